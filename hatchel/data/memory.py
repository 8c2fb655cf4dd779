"""Memory: data that a program already holds as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.array import as_bytes, scaled_rows
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.data.store import ArrayStore


class Memory(Source):
    """An array given from Python; only its fingerprint can be written down."""

    fingerprint: str = ""
    "Of the data, so that a run's record says what it saw."

    def load(self) -> Dataset:
        """There is nothing to load it from."""
        raise HatchelError("data: this run was trained on an array given from Python; pass that array again")


def from_array(values: NDArray[Any]) -> Dataset:
    """A data set of images (n, H, W) or (n, H, W, C), bytes or floats in [0, 1], or of rows (n, F) of numbers."""
    if values.ndim == 2:
        rows, columns = scaled_rows(values, "data")
        return Dataset("array", ArrayStore(rows), columns=columns)
    if values.ndim not in (3, 4):
        raise HatchelError(f"data: expected images (n, H, W[, C]) or rows (n, F), got the shape {values.shape}")
    images = as_bytes(values[..., None] if values.ndim == 3 else values, "data")
    return Dataset("array", ArrayStore(np.ascontiguousarray(images)))
