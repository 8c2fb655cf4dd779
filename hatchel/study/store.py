"""Store: a folder of records. The files are the truth; everything else is derived from them.

STORE/store.json                  the format
STORE/cells/DIGEST/record.json    a cell's Spec and what it found (error.json: why it failed)
STORE/studies/NAME-SCALE.json     which cells a study at a scale consists of, with their labels
STORE/runs/NAME-DIGEST/           training runs, shared by all cells
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from hatchel.core.errors import HatchelError
from hatchel.core.files import claimed, read_json, writable_folder, write_json
from hatchel.core.spec import to_dict
from hatchel.core.version import __version__
from hatchel.study.cell import Cell, Record

FORMAT = 1
Status = Literal["done", "failed", "waiting"]
Label = str | int | float


@dataclass(frozen=True)
class Entry:
    """A cell in a study, with what it is called there: the columns that tables and figures go by."""

    labels: Mapping[str, Label]
    cell: Cell


@dataclass(frozen=True)
class Row:
    """A finished cell as a study sees it."""

    labels: Mapping[str, Label]
    seed: int
    digest: str
    values: Mapping[str, float]
    details: Mapping[str, Any]
    seconds: float


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
        """Where training runs lie."""
        return self.folder / "runs"

    def place(self, digest: str) -> Path:
        """A cell's own folder."""
        return self.folder / "cells" / digest

    def lock(self, digest: str) -> Path:
        """Held by whoever computes a cell."""
        return self.place(digest) / "lock"

    def attempt(self, digest: str) -> Path:
        """A note that is there while a cell is computed; left behind only by a process that was killed."""
        return self.place(digest) / "attempt.json"

    def forget(self, digest: str) -> None:
        """Remove what earlier attempts at a cell left, its error too, unless somebody is at it."""
        if self.attempt(digest).is_file() or self.status(digest) == "failed":
            with claimed(self.lock(digest)) as mine:
                if mine:
                    self.attempt(digest).unlink(missing_ok=True)
                    (self.place(digest) / "error.json").unlink(missing_ok=True)

    def status(self, digest: str) -> Status:
        """Done, failed, or neither."""
        place = self.place(digest)
        if (place / "record.json").is_file():
            return "done"
        return "failed" if (place / "error.json").is_file() else "waiting"

    def write(self, cell: Cell, record: Record, seconds: float) -> None:
        """Keep what a cell found."""
        bad = [f"{name} is {value}" for name, value in record.values.items() if not math.isfinite(value)]
        if bad:
            raise HatchelError(f"{bad[0]}, which is not a number to keep")
        self.keep(
            {
                "format": FORMAT,
                "digest": cell.digest(),
                "cell": to_dict(cell),
                "values": dict(record.values),
                "details": dict(record.details),
                "seconds": round(seconds, 3),
                "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "hatchel": __version__,
                "machine": machine(),
            }
        )

    def keep(self, record: Mapping[str, Any]) -> None:
        """Keep a record as it is, also one of another store."""
        place = self.place(record["digest"])
        place.mkdir(parents=True, exist_ok=True)
        write_json(place / "record.json", record)
        (place / "error.json").unlink(missing_ok=True)

    def write_error(self, cell: Cell, message: str, trace: str = "") -> None:
        """Keep why a cell failed."""
        place = self.place(cell.digest())
        place.mkdir(parents=True, exist_ok=True)
        body = {"format": FORMAT, "cell": to_dict(cell), "error": message, "traceback": trace}
        write_json(place / "error.json", body)

    def record(self, digest: str) -> dict[str, Any]:
        """A finished cell's record.json."""
        return cast(dict[str, Any], read_json(self.place(digest) / "record.json"))

    def error(self, digest: str) -> str:
        """Why a cell failed."""
        return str(read_json(self.place(digest) / "error.json")["error"])

    def digests(self) -> list[str]:
        """Every finished cell."""
        return sorted(path.parent.name for path in (self.folder / "cells").glob("*/record.json"))

    def write_study(self, name: str, scale: str, entries: Sequence[Entry]) -> None:
        """Keep which cells a study consists of."""
        place = self.folder / "studies"
        place.mkdir(parents=True, exist_ok=True)
        rows = [{"cell": e.cell.digest(), "seed": e.cell.seed, "labels": dict(e.labels)} for e in entries]
        write_json(place / f"{name}-{scale}.json", {"study": name, "scale": scale, "entries": rows})

    def studies(self) -> list[dict[str, Any]]:
        """Every study that was run here: {"study", "scale", "entries"}."""
        return [cast(dict[str, Any], read_json(p)) for p in sorted((self.folder / "studies").glob("*.json"))]

    def rows(self, entries: Iterable[Entry]) -> list[Row]:
        """The finished ones among a study's cells."""
        found: list[Row] = []
        for entry in entries:
            digest = entry.cell.digest()
            if self.status(digest) == "done":
                record = self.record(digest)
                seconds = float(record["seconds"])
                row = Row(entry.labels, entry.cell.seed, digest, record["values"], record["details"], seconds)
                found.append(row)
        return found


def machine() -> str:
    """What the numbers were computed on, in a few words; their last digits depend on the vector instructions."""
    import torch

    cpu = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} cores"
    return f"{cpu}, torch {torch.__version__}, Python {platform.python_version()}"
