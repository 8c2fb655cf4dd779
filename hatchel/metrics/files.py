"""Codes and factors from files: npy, npz, HDF5, csv, tsv, parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.containers import keys, opened

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
        return _array(path, role) if suffix in ARRAYS else _table(path, suffix, role)
    except HatchelError as error:
        raise HatchelError(f"{role}: {error}") from None


def stored_roles(path: Path) -> tuple[str, ...]:
    """The names of a file's arrays; none for an npy file or a table."""
    return keys(path) if path.suffix.lower() in ARRAYS[1:] and path.is_file() else ()


def _array(path: Path, role: str) -> Columns:
    known = keys(path)
    if role not in known and len(known) > 1:
        raise HatchelError(f"{path}: holds no array {role!r}. Known: {', '.join(sorted(known))}")
    names = opened(path, "names").all() if role == "factors" and "names" in known else None
    values = opened(path, role if role in known else known[0]).all()
    return Columns(values, None if names is None else tuple(str(n) for n in names))


def _table(path: Path, suffix: str, role: str) -> Columns:
    import pandas as pd  # slow to import

    try:
        if suffix == ".parquet":
            frame = pd.read_parquet(path)
            return Columns(frame.to_numpy(), tuple(str(c) for c in frame.columns))
        options: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
        cells = pd.read_csv(path, sep="\t" if suffix == ".tsv" else ",", **options).to_numpy()
    except ImportError:
        raise HatchelError('parquet files need pyarrow: pip install "hatchel[data]"') from None
    except (ValueError, OSError) as error:  # pandas' and Arrow's own errors are ValueErrors
        raise HatchelError(f"{path}: not a readable table ({error})") from None
    held = np.array([[isinstance(cell, str) for cell in row] for row in cells]).sum(axis=1)
    for number in np.flatnonzero(held < len(cells[0])):  # a row that is too long is an error of pandas
        raise HatchelError(f"{path}: row {number + 1} has {held[number]} cells, the first has {len(cells[0])}")
    # A first row without a single number is a header; a table of strings only must have one.
    named = not any(_is_number(cell) for cell in cells[0])
    body = cells[1:] if named else cells
    try:
        body = body.astype(np.float64)
    except ValueError:
        if role != "factors":
            bad = next(cell for cell in body.ravel() if not _is_number(cell))
            raise HatchelError(f"{path}: expected numbers, got {bad!r}") from None
        body = body.astype(np.str_)
    return Columns(body, tuple(cells[0]) if named else None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
