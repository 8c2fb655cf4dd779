"""The folder that an export is written to, of which nothing foreign is overwritten."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.files import (
    DRAFT,
    SUMS,
    Damaged,
    disk_problem,
    listed,
    unfinished,
    whole_folder,
    writable_folder,
    write_sums,
)
from hatchel.training.checkpoint import Description
from hatchel.training.run import TrainedRun

OWN = {"encoder.onnx", "decoder.onnx", "config.json", "model.safetensors", SUMS}
"""Names an export writes. Not README.md: people edit a model card, so that one is replaced only by force."""


@dataclass(frozen=True)
class Exported:
    """Files that were written, and how far what they compute is from what the run computes."""

    files: tuple[Path, ...]
    difference: float
    """The largest, absolute below 1 and relative above."""


@contextlib.contextmanager
def export_folder(run: TrainedRun, target: Path, force: bool) -> Generator[Path]:
    """A folder to write to; its files come to `target` when all are there. Other files at the target stay."""
    check_target(run, target, force)
    try:
        if not target.exists():
            with whole_folder(target) as draft:
                yield draft
                write_sums(draft, _own(draft))
            return
        writable_folder(target)
        # Inside the target, so that moving a file is a rename.
        moved, others = target / f"{DRAFT}export-{os.getpid()}", dict[str, str]()
        with whole_folder(moved) as draft:
            yield draft
            with contextlib.suppress(Damaged):
                others = {name: digest for name, digest in listed(target).items() if (target / name).is_file()}
            write_sums(draft, _own(draft), others)
        for file in sorted(moved.iterdir()):
            file.replace(target / file.name)
        moved.rmdir()
    except Exception as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else disk_problem(error)
        if not reason:
            raise
        raise HatchelError(f"{target}: cannot be written ({reason})") from None


def _own(folder: Path) -> list[Path]:
    """What is listed with its digest; not the model card, which people edit."""
    return [path for path in folder.iterdir() if path.name in OWN - {SUMS}]


def check_target(run: TrainedRun, target: Path, force: bool) -> None:
    """Refuse a place that is a run, a file, or a folder with things that no export wrote."""
    if target.exists() and not target.is_dir():
        raise HatchelError(f"{target}: is a file; name a folder to export to")
    if (target / "checkpoints").exists() or target.resolve() == run.folder.resolve():
        raise HatchelError(f"{target}: is a run's own folder; name another folder to export to")
    if force or not target.exists():
        return
    found = sorted(p.name for p in target.iterdir() if not unfinished(p))
    strange = [name for name in found if name not in OWN]
    if "config.json" in found and not strange:
        try:
            Description.read(target)
        except HatchelError:
            strange = ["config.json"]
    if strange:
        raise HatchelError(f"{target}: already holds {strange[0]!r}; name another folder, or write there with --force")
