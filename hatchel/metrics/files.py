"""Codes and factors from files: npy, npz, HDF5, csv, tsv, parquet."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.formats import array_names, open_array

ARRAYS = (".npy", ".npz", ".h5", ".hdf5")
TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Columns:
    """Values (n, columns) with the columns' names where the file has them."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None


def read_columns(path: Path, role: str) -> Columns:
    """The array that a file holds for a role ("codes", "factors", ...); one file may hold several under their names."""
    if not path.is_file():
        raise HatchelError(f"{role}: {path}: there is no such file")
    suffix = path.suffix.lower()
    if suffix not in (*ARRAYS, *TABLES):
        raise HatchelError(f"{role}: {path}: unknown file type {suffix!r}. Known: {', '.join((*ARRAYS, *TABLES))}")
    try:
        if suffix in ARRAYS:
            return _array(path, role)
        return _parquet(path) if suffix == ".parquet" else _text(path, role)
    except HatchelError as error:
        raise HatchelError(f"{role}: {error}") from None


def stored_roles(path: Path) -> tuple[str, ...]:
    """The names of a file's arrays; none for an npy file or a table."""
    return array_names(path) if path.suffix.lower() in ARRAYS[1:] and path.is_file() else ()


def _array(path: Path, role: str) -> Columns:
    known = array_names(path)
    if role not in known and len(known) != 1:
        raise HatchelError(f"{path}: holds no array {role!r}. Known: {', '.join(sorted(known)) or 'none'}")
    names = open_array(path, "names").all() if role == "factors" and "names" in known else None
    values = open_array(path, role if role in known else next(iter(known))).all()
    return Columns(values, None if names is None else tuple(str(n) for n in names))


def _parquet(path: Path) -> Columns:
    import pandas  # slow to import

    try:
        frame = pandas.read_parquet(path)
    except ImportError:
        raise HatchelError('parquet files need pyarrow: pip install "hatchel[data]"') from None
    except (ValueError, OSError) as error:
        raise HatchelError(f"{path}: not a readable parquet file ({error})") from None
    return Columns(frame.to_numpy(), tuple(str(c) for c in frame.columns))


def _text(path: Path, role: str) -> Columns:
    """A table whose header is optional, which pandas cannot tell from the first row."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",") if row]
    if not rows:
        raise HatchelError(f"{path}: the file is empty")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise HatchelError(f"{path}: row {number} has {len(row)} cells, the first has {len(rows[0])}")
    # A first row without a single number is a header; a table of strings only must have one.
    named = not any(_is_number(cell) for cell in rows[0])
    cells = np.array(rows[named:], dtype=np.str_).reshape(-1, len(rows[0]))
    names = tuple(rows[0]) if named else None
    try:
        return Columns(cells.astype(np.float64), names)
    except ValueError:
        if role == "factors":
            return Columns(cells, names)
    bad = next(str(cell) for cell in cells.ravel() if not _is_number(cell))
    raise HatchelError(f"{path}: expected numbers, got {bad!r}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
