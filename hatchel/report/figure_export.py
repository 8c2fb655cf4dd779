"""Figure export: every figure of a report as files in a folder, and the animated traversals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.files import writable_folder, write_text
from hatchel.report.animation import animations, write_animation
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import DrawnPanel
from hatchel.report.style import png, standalone_svg


def checked_folder(folder: Path) -> Path:
    """A folder that can be written to, or why not, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise HatchelError(f"{folder}: is a file; --figures names a folder")
    return writable_folder(folder)


def write_figures(folder: Path, panels: Sequence[DrawnPanel]) -> list[Path]:
    """NAME.png and NAME.svg of every figure, on white."""
    written: list[Path] = []
    for panel in panels:
        for name, figure in panel.drawing.figures.items():
            stem = folder / file_name(name)
            written += [stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")]
            written[-2].write_bytes(png(figure))
            write_text(written[-1], standalone_svg(figure, stem.name))
    return written


def write_animations(folder: Path, found: Findings, prefix: str = "") -> list[Path]:
    """The animated traversals of a run on images."""
    if not found.pictured:
        return []
    made = animations(found, found.dimensions)
    return [p for name, frames in made.items() for p in write_animation(folder / file_name(f"{prefix} {name}"), frames)]


def file_name(name: str) -> str:
    """Letters, digits, dots and dashes only.

    >>> file_name("traversals beta_vae kl.weight=4, seed 0")
    'traversals-beta_vae-kl.weight-4-seed-0'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")
