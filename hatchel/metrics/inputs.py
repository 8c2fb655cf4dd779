"""What comes in from outside: arrays, tensors or tables, checked once, with one clear error each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The generator itself, or a new one from an integer seed."""
    return np.random.default_rng(seed)


def array(value: Any, name: str) -> NDArray[Any]:
    """A numpy array of whatever holds numbers: an array, a tensor, a list, a table."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    result = np.asarray(value)
    if result.size == 0:
        raise HatchelError(f"{name}: the array is empty (shape {result.shape})")
    return result


def matrix(value: Any, name: str, rows: int | None = None) -> Matrix:
    """A finite (n, columns) float64 array; one column may come as a vector."""
    result = array(value, name)
    if result.ndim == 1:
        result = result[:, None]
    if result.ndim != 2:
        raise HatchelError(f"{name}: expected rows x columns, got shape {result.shape}")
    if rows is not None and len(result) != rows:
        raise HatchelError(f"{name}: {len(result)} rows, but the codes have {rows}; give one row per code")
    if not np.issubdtype(result.dtype, np.number) and result.dtype != np.bool_:
        raise HatchelError(f"{name}: expected numbers, got {result.dtype}")
    if np.issubdtype(result.dtype, np.complexfloating):
        raise HatchelError(f"{name}: expected real numbers, got {result.dtype}")
    result = result.astype(np.float64, copy=False)  # float32 edges of bins differ between numpy versions
    bad = ~np.isfinite(result)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise HatchelError(f"{name}: {bad.sum()} values are NaN or infinite, the first at row {row}, column {column}")
    return result


def table(value: Any, name: str, rows: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Factor values (n, K), and which columns are numbers; words become numbers in alphabetical order."""
    result = array(value, name)
    result = result[:, None] if result.ndim == 1 else result
    if result.ndim != 2:
        raise HatchelError(f"{name}: expected rows x factors, got shape {result.shape}")
    if len(result) != rows:
        raise HatchelError(f"{name}: {len(result)} rows, but the codes have {rows}; give one row per code")
    if np.issubdtype(result.dtype, np.integer):
        return result, np.ones(result.shape[1], dtype=np.bool_)
    if np.issubdtype(result.dtype, np.number) or result.dtype == np.bool_:
        return matrix(result, name), np.ones(result.shape[1], dtype=np.bool_)
    columns = [_numbers(result[:, k]) for k in range(result.shape[1])]
    return matrix(np.stack([c for c, _ in columns], axis=1), name), np.array([numeric for _, numeric in columns])


def _numbers(column: NDArray[Any]) -> tuple[Matrix, bool]:
    """A column of a mixed table: its numbers, or the numbers of its words."""
    try:
        return column.astype(np.float64), True
    except (ValueError, TypeError):
        return np.unique(column.astype(np.str_), return_inverse=True)[1].astype(np.float64), False


def factor_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The given names, checked, or factor_0, factor_1, ..."""
    if names is None:
        return tuple(f"factor_{k}" for k in range(count))
    if len(names) != count:
        raise HatchelError(f"names: {len(names)} names for {count} factors")
    if len(set(names)) != count:
        raise HatchelError(f"names: {', '.join(map(str, names))}: every factor needs its own name")
    return tuple(str(n) for n in names)
