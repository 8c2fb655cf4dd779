"""Figure export: the figures of a report as files, traversals that move (GIF, WebP), and one summary picture."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from hatchel.core.errors import HatchelError
from hatchel.core.files import writable_folder, write_bytes, write_text
from hatchel.metrics.information import Float
from hatchel.report.findings import HEADLINES, Control, Findings
from hatchel.report.panels.panel import DrawnPanel
from hatchel.report.panels.scores import show_scores
from hatchel.report.pictures import ROWS, Images, clearest, decoded, moved, show_rows, traversal_labels, traversed
from hatchel.report.style import INK, LEGEND, NORMAL, png, standalone_svg, styled

FRAMES = 40
"""Of one round; even, so that the way back shows the images of the way there."""
MILLISECONDS = 70
"""A frame."""
TILE = 112
"""Pixels of a tile's side at least."""
COLUMNS = 4
GAP, TEXT = 8, 13
SUMMARY_INCHES, SUMMARY_DPI, SUMMARY_ROWS = 12.0, 100, 7
"""1200 pixels wide; of the dimensions only those that carry information, so many at most."""


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
            write_bytes(written[-2], png(figure))
            write_text(written[-1], standalone_svg(figure, stem.name))
    return written


def write_animations(folder: Path, found: Findings, prefix: str = "") -> list[Path]:
    """The animated traversals of a run on images."""
    if not found.pictured:
        return []
    made = animations(found)
    return [p for name, frames in made.items() for p in write_animation(folder / file_name(f"{prefix} {name}"), frames)]


def file_name(name: str) -> str:
    """Letters, digits, dots and dashes only.

    >>> file_name("traversals beta_vae kl.weight=4, seed 0")
    'traversals-beta_vae-kl.weight-4-seed-0'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")


def sweep(frames: int = FRAMES) -> Float:
    """Shares of the range over one round: from low to high and back, slow at both ends; the last leads to the first.

    >>> sweep(4).round(3).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return (1 - np.cos(2 * np.pi * np.arange(frames) / frames)) / 2


def moving(found: Findings, chosen: Sequence[int], frames: int = FRAMES) -> Images:
    """The decoded way there and back of some dimensions: (frames, R, H, W, C)."""
    start = clearest(found.run, found.probe.codes, found.dimensions)
    shares = sweep(frames)
    there = shares[: frames // 2 + 1]  # the way back passes the same codes
    codes = np.stack([moved(start, found.dimensions, d, there) for d in chosen])
    images = decoded(found.run, codes)  # (R, frames / 2 + 1, H, W, C)
    whole = np.concatenate([images, images[:, 1 : frames - frames // 2][:, ::-1]], axis=1)
    return whole.swapaxes(0, 1)


def frames_of(images: Images, labels: Sequence[str]) -> list[Image.Image]:
    """Labelled tiles (frames, R, H, W, C) on white, COLUMNS in a row."""
    _, count, height, width, channels = images.shape
    scale = max(1, math.ceil(TILE / max(height, width)))
    high, wide = height * scale, width * scale
    font = ImageFont.load_default(TEXT)
    wide = max(wide, math.ceil(max(font.getlength(label) for label in labels)))
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    step = (wide + GAP, high + TEXT + 6 + GAP)
    empty = Image.new("RGB", (columns * step[0] + GAP, rows * step[1] + GAP), "white")
    corners = [(GAP + (i % columns) * step[0], GAP + (i // columns) * step[1]) for i in range(count)]
    draw = ImageDraw.Draw(empty)
    for (x, y), label in zip(corners, labels, strict=True):
        draw.text((x, y), label, fill=INK, font=font)
    result: list[Image.Image] = []
    for frame in images:
        picture = empty.copy()
        for (x, y), tile in zip(corners, frame, strict=True):
            pixels = tile[..., :3] if channels >= 3 else tile[..., 0]
            large = Image.fromarray(pixels).resize((width * scale, height * scale), Image.Resampling.NEAREST)
            picture.paste(large.convert("RGB"), (x, y + TEXT + 6))
        result.append(picture)
    return result


def write_animation(stem: Path, frames: Sequence[Image.Image]) -> list[Path]:
    """STEM.gif and STEM.webp, both in an endless loop."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("gif", "webp")]
    first, *rest = frames
    # One palette for all frames: one made for each would flicker.
    palette = _together(frames).quantize(255, dither=Image.Dither.NONE)
    indexed = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    same = {"save_all": True, "duration": MILLISECONDS, "loop": 0}
    gif, webp = io.BytesIO(), io.BytesIO()
    indexed[0].save(gif, "gif", append_images=indexed[1:], optimize=False, **same)
    first.save(webp, "webp", append_images=rest, lossless=True, **same)
    for path, made in zip(paths, (gif, webp), strict=True):
        write_bytes(path, made.getvalue())
    return paths


def _together(frames: Sequence[Image.Image]) -> Image.Image:
    some = frames[:: max(1, len(frames) // 5)]
    whole = Image.new("RGB", (some[0].width, sum(frame.height for frame in some)))
    for i, frame in enumerate(some):
        whole.paste(frame, (0, i * frame.height))
    return whole


def animations(found: Findings) -> dict[str, list[Image.Image]]:
    """By file name: all dimensions together, and each active one by itself."""
    dimensions = found.dimensions
    order = dimensions.order[:ROWS].tolist()
    images = moving(found, order)
    labels = [dimensions.label(d) for d in order]
    result = {"traversals": frames_of(images, labels)}
    for row, d in enumerate(order):
        if d in dimensions.active:
            name = f"traversal {labels[row].replace(' · ', ' ')}"
            result[name] = frames_of(images[:, row : row + 1], labels[row : row + 1])
    return result


@styled
def summary_figure(found: Findings, controls: Sequence[Control], name: str) -> Figure:
    """For a README or a slide: traversals on the left, by information; on the right the scores beside the controls'."""
    images, counts = traversed(found.run, found, min(SUMMARY_ROWS, max(5, len(found.dimensions.active))))
    rows, columns, height, width = images.shape[:4]
    tall = max(4.2, 0.53 * SUMMARY_INCHES * rows * height / (columns * width) + 0.7)
    figure = Figure(figsize=(SUMMARY_INCHES, tall), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.18, h_pad=0.14)  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    title = {"loc": "left", "color": INK, "fontsize": NORMAL + 1, "pad": 8}
    left, right = figure.subplots(1, 2, width_ratios=[1.75, 1])
    show_rows(left, images, traversal_labels(found.dimensions, len(images)), counts)
    left.set_anchor("NW")
    left.set_title("One dimension a row: the factor it follows, its information in nats", **title)
    keys = found.bounded
    labels = [h.label.replace("DCI disentanglement", "DCI") for h in HEADLINES if h.key in keys]
    labels += [f"R² {fit.factor}" for fit in found.fits]
    sources = {name: found, **{c.name: c.findings for c in controls}}
    scores = {n: [*(f.scores.get(k) for k in keys), *(fit.score for fit in f.fits)] for n, f in sources.items()}
    show_scores(right, labels, scores)
    right.tick_params(labelsize=NORMAL)
    right.set_title("Scores with 95 % intervals, beside the controls", **title)
    right.legend(loc="upper center", bbox_to_anchor=(0.4, -0.08), ncols=len(scores), **LEGEND)
    return figure
