"""`hatchel verify`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from hatchel.cli.options import AsJson
from hatchel.cli.runs import run_folder
from hatchel.core.errors import HatchelError

UNSEALED = {"results.json", "scores.json"}
"""Made to be given away, and made again from the records and scores."""


def verify(
    folder: Annotated[
        Path,
        typer.Argument(metavar="RUN|STORE", help="A run, zoo:NAME, a study's store, or an export.", parser=run_folder),
    ],
    as_json: AsJson = False,
) -> None:
    """Check every file against the digest that was written with it; name what is damaged and what restores it.

    [bold]hatchel verify runs/mine[/]   [bold]hatchel verify studies[/]   Exit code 1 if something is damaged.
    """
    from hatchel.cli.printing import print_json
    from hatchel.core.files import SUMS, Damaged, check_digest, listed, unfinished
    from hatchel.training.events import bad_lines

    if not folder.is_dir():
        raise HatchelError(f"{folder}: is not a folder; name a run, a store or an export")
    checked, unknown = 0, 0
    damaged, lines = list[dict[str, str]](), list[str]()
    found = {path for end in ("json", "safetensors", "onnx") for path in folder.rglob(f"*.{end}")}
    for page in folder.rglob(SUMS):
        with contextlib.suppress(Damaged):  # which is found again with the files that it lists
            found |= {page.parent / name for name in listed(page.parent)}
    for path in sorted(found):
        if path.name in UNSEALED or any(map(unfinished, (path, *path.parents))):
            continue
        checked += 1
        try:
            unknown += not check_digest(path)
        except Damaged as error:
            damaged.append({"file": str(path), "error": str(error), "remedy": _remedy(folder, path)})
    for path in sorted(folder.rglob("events.jsonl")):
        if count := bad_lines(path.parent):
            lines.append(f"{path}: {count} damaged line{'s' * (count > 1)}, left out by all that read it")
    sound = checked - len(damaged) - unknown
    if as_json:
        counts = {"files": checked, "sound": sound, "without a digest": unknown}
        print_json({"folder": folder, **counts, "damaged": damaged, "events": lines})
    else:
        for found_bad in damaged:
            print(f"{found_bad['error']}\n    {found_bad['remedy']}")
        for line in lines:
            print(line)
        old = f", {unknown} without a digest (written before 0.3)" if unknown else ""
        print(f"{folder}: {checked} files, {sound} as they were written{old}, {len(damaged)} damaged")
    if damaged:
        raise typer.Exit(1)


def _remedy(folder: Path, path: Path) -> str:
    """What restores a damaged file."""
    from hatchel.training.checkpoint import checkpoints

    place = path.parent
    run = place.parents[1] if place.parent.name == "checkpoints" else place
    if (run / "card.json").is_file():
        return f"rm -r {run} (a copy of a model of the zoo, which is unpacked again when it is next named)"
    if run != place:
        newer = checkpoints(run)[0] != place
        return f"not the newest, so not needed: rm -r {place}" if newer else f"hatchel train {run} --resume"
    if place.parent.name == "cells" or place.name == "studies" or path.name == "store.json":
        return _study_remedy(folder, path)
    if path.name == "config.json" and (kept := [c for c in checkpoints(place) if (c / path.name).is_file()]):
        return f"cp {kept[0] / path.name} {path}"
    if path.name == "evaluation.json" or path.name.startswith("codes-"):
        return f"hatchel evaluate {place}"
    if path.name == "plan.json":
        return f"rm -r {place} (upon which the same `hatchel discover` begins anew)"
    if path.name in ("discover.json", "tracked.json"):
        return f"rm {path} (it is written again when the command that made it goes on)"
    return f"an export is made again by: hatchel export RUN --safetensors {place} --force (or --onnx, --hub)"


def _study_remedy(folder: Path, path: Path) -> str:
    from hatchel.core.files import Damaged, read_json

    if path.name == "store.json":
        return f"rm {path} (it holds only the format, and is written again)"
    for page in sorted(folder.rglob("studies/*.json")):
        try:
            body: dict[str, Any] = read_json(page)
        except Damaged:
            continue
        if any(entry["cell"] == path.parent.name for entry in body["entries"]):
            old = f"hatchel study run {body['study']} --scale {body['scale']} --store {page.parents[1]}"
            return body.get("again") or old
    return f"rm {path} (the command that made it makes it again: study run, tune, discover or train --seeds)"
