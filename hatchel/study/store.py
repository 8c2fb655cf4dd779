"""Store: a folder of records. The files are the truth; everything else is derived from them.

STORE/store.json                  the format
STORE/cells/DIGEST/record.json    a task's Spec and what it found (error.json: why it failed)
STORE/studies/NAME-SCALE.json     which tasks a study at a scale consists of, with their labels
STORE/runs/NAME-DIGEST/           training runs, shared by all tasks

Published with the source are, in docs/results, a folder for each study with results.json (labels, seeds and the values
that its tables use) and, where they were kept, the whole records in records.json.gz; or, in docs/results/records, the
record of each task, DIGEST.json.gz, for whoever asks for that task.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
import os
import platform
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd

from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, check_digest, claimed, read_json, writable_folder, write_bytes, write_json
from hatchel.core.spec import to_dict
from hatchel.study.frame import Frame, build
from hatchel.study.task import Case, Result, Task

FORMAT = 1
PUBLISHED = Path(__file__).parents[2] / "docs" / "results"
"""What was published with the source; not part of an installed package."""
RECORDS = PUBLISHED / "records"
Status = Literal["done", "failed", "waiting"]
QUICK = 1.0
"""Seconds. What was computed in less is not flushed to the disk, which may take longer: after a power failure a record
that is missing, or that its digest shows to be damaged, is computed again."""


class Store:
    """Records in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        page = self.folder / "store.json"
        if page.is_file():
            body = read_json(page)
            form = cast(dict[str, Any], body).get("format") if isinstance(body, dict) else None
            if not isinstance(form, int):
                raise HatchelError(f"{page}: was not written by Hatchel; name another folder")
            if form > FORMAT:
                raise HatchelError(
                    f"{self.folder}: written by a newer Hatchel (store format {form}; this is {__version__}, "
                    f"format {FORMAT}): upgrade to read it"
                )

    def create(self) -> Store:
        """Make the folder, or say why it cannot be written to."""
        writable_folder(self.folder)
        if not (self.folder / "store.json").is_file():
            write_json(self.folder / "store.json", {"format": FORMAT, "hatchel": __version__})
        return self

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def folder_of(self, digest: str) -> Path:
        return self.folder / "cells" / digest

    def lock(self, digest: str) -> Path:
        """Held by whoever computes a task."""
        return self.folder_of(digest) / "lock"

    def attempt(self, digest: str) -> Path:
        """A note that is there while a task is computed; left behind only by a process that was killed."""
        return self.folder_of(digest) / "attempt.json"

    def forget(self, digest: str) -> None:
        """Remove what earlier attempts at a task left, its error too, unless somebody is at it."""
        if self.attempt(digest).is_file() or self.status(digest) == "failed":
            with claimed(self.lock(digest)) as mine:
                if mine:
                    self.attempt(digest).unlink(missing_ok=True)
                    (self.folder_of(digest) / "error.json").unlink(missing_ok=True)

    def status(self, digest: str) -> Status:
        """Done, failed, or neither: what is damaged does not count, so that it is computed again."""
        folder = self.folder_of(digest)
        if _sound(folder / "record.json"):
            return "done"
        return "failed" if _sound(folder / "error.json") else "waiting"

    def write(self, task: Task, result: Result, seconds: float) -> None:
        """Keep what a task found; the note of the attempt becomes the record."""
        bad = [f"{name} is {value}" for name, value in result.values.items() if not math.isfinite(value)]
        if bad:
            raise HatchelError(f"{bad[0]}, which is not a number to keep")
        digest = task.digest()
        self.keep(
            {
                "format": FORMAT,
                "digest": digest,
                "cell": to_dict(task),
                "values": dict(result.values),
                "details": dict(result.details),
                "seconds": round(max(seconds, result.spent), 3),
                "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "hatchel": __version__,
                "machine": machine(),
            },
            self.attempt(digest),
        )

    def keep(self, record: Mapping[str, Any], draft: Path | None = None) -> None:
        """Keep a record as it is, also one of another store."""
        folder = self.folder_of(record["digest"])
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "record.json", record, flush=float(record.get("seconds", QUICK)) >= QUICK, draft=draft)
        (folder / "error.json").unlink(missing_ok=True)

    def published(self, digests: Iterable[str], records: Path = RECORDS) -> list[str]:
        """The tasks that have no record here and a published one."""
        return [d for d in digests if self.status(d) != "done" and (records / f"{d}.json.gz").is_file()]

    def adopt(self, digests: Iterable[str], records: Path = RECORDS) -> list[str]:
        """Take over the published records of tasks that have none here; whose they were."""
        found = self.published(digests, records)
        for digest in found:
            self.keep(published_record(digest, records))
        return found

    def publish(self, digests: Iterable[str], records: Path = RECORDS) -> list[str]:
        """Write the records of finished tasks, compressed, where `adopt` finds them; those that were not there yet."""
        new = [d for d in digests if self.status(d) == "done" and not (records / f"{d}.json.gz").is_file()]
        records.mkdir(parents=True, exist_ok=True)
        for digest in new:
            body = json.dumps(self.record(digest), separators=(",", ":"), allow_nan=False)
            write_bytes(records / f"{digest}.json.gz", gzip.compress(body.encode(), mtime=0))
        return new

    def seconds(self, digest: str) -> float | None:
        """How long a task took, here or as published; None where neither is known."""
        if self.status(digest) == "done":
            return float(self.record(digest)["seconds"])
        return float(found["seconds"]) if (found := published_record(digest)) else None

    def write_error(self, task: Task, message: str, trace: str = "") -> None:
        folder = self.folder_of(task.digest())
        folder.mkdir(parents=True, exist_ok=True)
        body = {"format": FORMAT, "cell": to_dict(task), "error": message, "traceback": trace}
        write_json(folder / "error.json", body)

    def record(self, digest: str) -> dict[str, Any]:
        return cast(dict[str, Any], read_json(self.folder_of(digest) / "record.json"))

    def error(self, digest: str) -> str:
        return str(read_json(self.folder_of(digest) / "error.json")["error"])

    def digests(self) -> list[str]:
        found = sorted(path.parent.name for path in (self.folder / "cells").glob("*/record.json"))
        return [digest for digest in found if self.status(digest) == "done"]

    def write_study(self, name: str, scale: str, cases: Sequence[Case], again: str = "") -> None:
        """Keep which tasks a study consists of, and the command that computes what is missing."""
        self.list_study(name, scale, [(c.labels, c.task.seed, c.task.digest()) for c in cases], again)

    def list_study(
        self, name: str, scale: str, cases: Iterable[tuple[Mapping[str, Any], int, str]], again: str = ""
    ) -> None:
        """The same from labels, seeds and digests."""
        folder = self.folder / "studies"
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"cell": digest, "seed": seed, "labels": dict(labels)} for labels, seed, digest in cases]
        write_json(folder / f"{name}-{scale}.json", {"study": name, "scale": scale, "again": again, "entries": rows})

    def studies(self) -> list[dict[str, Any]]:
        """Every study that was run here: {"study", "scale", "again", "entries"}."""
        return [cast(dict[str, Any], read_json(p)) for p in sorted((self.folder / "studies").glob("*.json"))]

    def frame(self, study: str = "", scale: str = "") -> Frame:
        """What was found, one row per value: of a study at a scale, of a study, or of everything that is here.

        Tasks that belong to no study (any more) have an empty study.
        """
        known = [s for s in self.studies() if study in ("", s["study"]) and scale in ("", s["scale"])]
        parts = [build(self._finished(s["entries"]), s["study"], s["scale"]) for s in known]
        if not study:
            listed = {entry["cell"] for s in known for entry in s["entries"]}
            records = (self.record(digest) for digest in self.digests() if digest not in listed)
            parts.append(build(({}, int(r["cell"].get("seed", 0)), r) for r in records))
        return combined(parts)

    def frame_of(self, cases: Iterable[Case], study: str = "", scale: str = "") -> Frame:
        """The same of some tasks."""
        entries = [{"cell": c.task.digest(), "seed": c.task.seed, "labels": c.labels} for c in cases]
        return build(self._finished(entries), study, scale)

    def _finished(self, entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, int, dict[str, Any]]]:
        for entry in entries:
            if self.status(entry["cell"]) == "done":
                yield entry["labels"], int(entry["seed"]), self.record(entry["cell"])


def _sound(path: Path) -> bool:
    """Whether a file is there and is what was written; one that is damaged is named, once."""
    try:
        found = path.stat()
    except OSError:
        return False
    return _checked(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(1 << 16)
def _checked(path: Path, changed: int, size: int) -> bool:
    try:
        check_digest(path)
    except Damaged as error:
        print(f"hatchel: {error}; it counts as missing, and its study computes it again", file=sys.stderr)
        return False
    return True


def combined(parts: Sequence[Frame]) -> Frame:
    """Frames of several studies; a label that one of them lacks is empty."""
    filled = [part for part in parts if len(part)]
    if len(filled) < 2:
        return filled[0] if filled else build(())
    return pd.concat(filled, ignore_index=True).fillna(
        {c: "" for part in filled for c in part if part[c].dtype == object}
    )


def published_record(digest: str, records: Path = RECORDS) -> dict[str, Any]:
    """A task's published record; empty where there is none."""
    file = records / f"{digest}.json.gz"
    return cast(dict[str, Any], _unpacked(file)) if file.is_file() else {}


def _unpacked(file: Path) -> Any:
    try:
        return json.loads(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Damaged(f"{file}: is damaged ({error}); get it anew, or remove it to do without") from None


def published(folder: Path) -> tuple[str, Frame]:
    """The scale and the frame of published results; the whole records where they were kept."""
    body = cast(dict[str, Any], read_json(folder / "results.json"))
    scale = str(body["facts"]["Scale"]).partition(":")[0]
    file = folder / "records.json.gz"
    kept: list[Any] = _unpacked(file) if file.is_file() else []
    records = {r["digest"]: r for r in kept}
    rows = [
        (c["labels"], int(c["seed"]), records.get(c["cell"], {"digest": c["cell"], "values": c["values"]}))
        for c in body["cells"]
    ]
    return scale, build(rows, str(body["study"]), scale)


@functools.cache
def machine() -> str:
    """What the numbers were computed on, in a few words; their last digits depend on the vector instructions."""
    import torch

    cpu = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} cores"
    return f"{cpu}, torch {torch.__version__}, Python {platform.python_version()}"
