"""Codes and factors from files: npy, npz, csv, tsv, parquet."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.metrics.score import import_pandas

FORMATS = (".npy", ".npz", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Columns:
    """Values (n, columns) with the columns' names where the file has them."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None


def read_columns(path: Path, role: str) -> Columns:
    """The array that a file holds for a role ("codes", "factors", ...); an npz may hold several under their names."""
    if not path.is_file():
        raise HatchelError(f"{role}: {path}: there is no such file")
    match path.suffix.lower():
        case ".npy":
            return Columns(_load(path, role))
        case ".npz":
            return _from_archive(path, role)
        case ".csv" | ".tsv":
            return _from_text(path, role)
        case ".parquet":
            return _from_parquet(path, role)
        case other:
            raise HatchelError(f"{role}: {path}: unknown file type {other!r}. Known: {', '.join(FORMATS)}")


def archive_roles(path: Path) -> tuple[str, ...]:
    """The names of an npz's arrays; nothing for other files."""
    return tuple(_load(path, "codes").files) if path.suffix.lower() == ".npz" and path.is_file() else ()


def _load(path: Path, role: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise HatchelError(f"{role}: {path}: not a readable numpy file ({error})") from None


def _from_archive(path: Path, role: str) -> Columns:
    archive = _load(path, role)
    known = archive.files
    if role in known:
        names = archive["names"] if role == "factors" and "names" in known else None
        return Columns(archive[role], None if names is None else tuple(str(n) for n in names))
    if len(known) == 1:
        return Columns(archive[known[0]])
    raise HatchelError(f"{role}: {path}: holds no array {role!r}. Known: {', '.join(sorted(known))}")


def _from_text(path: Path, role: str) -> Columns:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",") if row]
    if not rows:
        raise HatchelError(f"{role}: {path}: the file is empty")
    # A first row without a single number is a header; a table of strings only must have one.
    named = not any(_is_number(cell) for cell in rows[0])
    body = rows[1:] if named else rows
    for number, row in enumerate(body, start=2 if named else 1):
        if len(row) != len(rows[0]):
            raise HatchelError(f"{role}: {path}: row {number} has {len(row)} cells, the first has {len(rows[0])}")
    cells = np.array(body, dtype=np.str_).reshape(len(body), len(rows[0]))
    try:
        values: NDArray[Any] = cells.astype(np.float64)
    except ValueError:
        if role != "factors":
            bad = next(c for c in cells.ravel() if not _is_number(c))
            raise HatchelError(f"{role}: {path}: expected numbers, got {str(bad)!r}") from None
        values = cells
    return Columns(values, tuple(rows[0]) if named else None)


def _from_parquet(path: Path, role: str) -> Columns:
    pandas = import_pandas()
    try:
        frame = pandas.read_parquet(path)
    except ImportError:
        raise HatchelError('parquet files need pyarrow: pip install "hatchel[data]"') from None
    except (ValueError, OSError) as error:
        raise HatchelError(f"{role}: {path}: not a readable parquet file ({error})") from None
    return Columns(cast("NDArray[Any]", frame.to_numpy()), tuple(str(c) for c in frame.columns))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
