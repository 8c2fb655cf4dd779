"""What comes in from outside, checked once, with one clear error each: arrays, tensors, tables, files."""

from __future__ import annotations

import csv
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.formats import ARRAYS, TABLES, array_names, open_array

Float = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.Generator
TILE = 256
"""Images at a time."""
SINGLE = np.finfo(np.float32)
"""Numbers of which single precision holds neither size nor nearness to 0 cannot be squared and summed in double."""


def array(value: Any, name: str) -> NDArray[Any]:
    """A numpy array of whatever holds numbers: an array, a tensor, a list, a table."""
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu().to_dense()
            value = value.float() if value.is_floating_point() and value.itemsize < 4 else value  # bfloat16, float8
        result = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise HatchelError(f"{name}: not an array, whose rows are equally long: {reason[:200]}") from None
    if np.ma.is_masked(value):
        raise HatchelError(f"{name}: {np.ma.count_masked(value)} values are masked; leave their rows out")
    if result.ndim == 0:
        raise HatchelError(f"{name}: expected an array, got {str(value)[:80]!r}")
    if result.size == 0:
        raise HatchelError(f"{name}: the array is empty (shape {result.shape})")
    return result


def numbers(value: Any, name: str) -> NDArray[Any]:
    """An array of real numbers or truth values, of any shape."""
    result = array(value, name)
    if not np.issubdtype(result.dtype, np.number) and result.dtype != np.bool_:
        raise HatchelError(f"{name}: expected numbers, got {result.dtype}")
    if np.issubdtype(result.dtype, np.complexfloating):
        raise HatchelError(f"{name}: expected real numbers, got {result.dtype}")
    return result


def whole(value: Any, name: str) -> int:
    """A number of things, or a seed: an integer from 0 on."""
    try:
        result = operator.index(value)
    except TypeError:
        result = -1
    if result < 0:
        raise HatchelError(f"{name}: expected a whole number from 0 on, got {str(value)[:80]!r}")
    return result


def row_numbers(value: Any, name: str, rows: int) -> NDArray[np.int64]:
    """Numbers of some of so many rows."""
    result = array(value, name)
    if result.ndim != 1 or not np.issubdtype(result.dtype, np.integer) or result.min() < 0 or result.max() >= rows:
        raise HatchelError(f"{name}: expected how many rows, or a list of row numbers from 0 to {rows - 1}")
    return result.astype(np.int64)


def matrix(value: Any, name: str, rows: int | None = None) -> Float:
    """A finite (n, columns) float64 array; one column may come as a vector."""
    result = numbers(_columns(value, name, rows), name)
    result = result.astype(np.float64, copy=False)  # float32 edges of bins differ between numpy versions
    size = np.abs(result)
    bad = ~np.isfinite(result)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise HatchelError(f"{name}: {bad.sum()} values are NaN or infinite, the first at row {row}, column {column}")
    if size.max() > SINGLE.max:
        raise HatchelError(f"{name}: values up to {size.max():.3g} cannot be squared; divide them by their scale first")
    return np.where(size < SINGLE.tiny, 0.0, result)


def table(value: Any, name: str, rows: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Factor values (n, K), and which columns are numbers; words become numbers in alphabetical order."""
    result = _columns(value, name, rows)
    if np.issubdtype(result.dtype, np.number) or result.dtype == np.bool_:
        whole = np.issubdtype(result.dtype, np.integer)
        return result if whole else matrix(result, name), np.ones(result.shape[1], dtype=np.bool_)
    columns = [_numbers(result[:, k]) for k in range(result.shape[1])]
    return matrix(np.stack([c for c, _ in columns], axis=1), name), np.array([numeric for _, numeric in columns])


def pixel_errors(images: Any, reconstructions: Any) -> dict[str, Float]:
    """Three errors of every image, and the entropy of its grey values, under which no Bernoulli error can be; (n,)."""
    given, rebuilt = array(images, "images"), array(reconstructions, "reconstructions")
    if given.shape != rebuilt.shape:
        raise HatchelError(f"reconstruction: shapes differ: {given.shape} and {rebuilt.shape}")
    parts = [_pixel_errors(given[i : i + TILE], rebuilt[i : i + TILE]) for i in range(0, len(given), TILE)]
    nats, squares, floor = np.concatenate(parts, axis=1)
    pixels = int(np.prod(given.shape[1:]))
    return {"bernoulli_nats_per_image": nats, "mse_per_pixel": squares, "bce_per_pixel": nats / pixels, "floor": floor}


def _pixel_errors(images: NDArray[Any], rebuilt: NDArray[Any]) -> Float:
    x, p = (values.reshape(len(values), -1).astype(np.float64) for values in (images, rebuilt))
    for name, values in (("images", x), ("reconstructions", p)):
        if not ((values >= 0) & (values <= 1)).all():
            raise HatchelError(f"reconstruction: {name} must lie between 0 and 1 (probabilities, not logits)")

    def cross_entropy(q: Float) -> Float:
        with np.errstate(divide="ignore"):
            on, off = np.maximum(np.log(q), -100), np.maximum(np.log1p(-q), -100)  # cut as torch cuts them
        return -(x * on + (1 - x) * off).sum(axis=1)

    return np.stack([cross_entropy(p), ((x - p) ** 2).mean(axis=1), cross_entropy(x)])


def _columns(value: Any, name: str, rows: int | None) -> NDArray[Any]:
    result = array(value, name)
    result = result[:, None] if result.ndim == 1 else result
    if result.ndim != 2:
        raise HatchelError(f"{name}: expected rows x columns, got shape {result.shape}")
    if rows is not None and len(result) != rows:
        raise HatchelError(f"{name}: {len(result)} rows, but the codes have {rows}; give one row per code")
    return result


def _numbers(column: NDArray[Any]) -> tuple[Float, bool]:
    """A column of a mixed table: its numbers, or the numbers of its words."""
    try:
        return column.astype(np.float64), True
    except (ValueError, TypeError):
        return np.unique(column.astype(np.str_), return_inverse=True)[1].astype(np.float64), False


def factor_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The given names, checked, or factor_0, factor_1, ..."""
    if names is None:
        return tuple(f"factor_{k}" for k in range(count))
    names = [names] if isinstance(names, str) else list(array(names, "names").ravel())
    if len(names) != count:
        raise HatchelError(f"names: {len(names)} names for {count} factors")
    if len(set(names)) != count:
        raise HatchelError(f"names: {', '.join(map(str, names))}: every factor needs its own name")
    return tuple(str(n) for n in names)


class Columns(NamedTuple):
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
