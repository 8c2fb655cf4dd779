"""Your own arrays of images or of rows: in an npy, npz or HDF5 file, or held by a program."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.dataset import Dataset
from hatchel.data.decode import Pixels
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.formats import FileArray, array_names, open_array
from hatchel.data.source import Source
from hatchel.data.table import TableColumn

IMAGES = ("images", "imgs", "x", "data", "arr_0")
FACTORS = ("factors", "labels", "y")
IN_MEMORY = 1 << 30  # bytes of pixels that are simply read; more go through the cache


class Array(Source):
    """Your own array in an .npy, .npz or .h5 file: images (N, H, W), (N, H, W, C) or (N, C, H, W), or rows (N, F).

    Pixels are bytes 0 to 255, booleans, or floats in [0, 1]. Rows are scaled to mean 0 and variance 1.
    """

    path: str
    "The file."
    key: str = ""
    "Which array of the file; empty: the only one, or the one called images, imgs, x, data or arr_0."
    factors: str = ""
    "Which array of the file has the factors, integers (N,) or (N, K); empty: one called factors, labels or y, if any."
    cache: bool = local(default=True)
    "Keep a large array that cannot be mapped as it is (over 1 GB, compressed) unpacked in the cache folder."

    def load(self) -> Dataset:
        path = Path(self.path).expanduser()
        if not path.is_file():
            raise HatchelError(f"path: there is no file {self.path}")
        names = array_names(path)
        own = [k for k in names if k not in (self.factors, *FACTORS)] if len(names) > 1 else list(names)
        key = self.key or (own[0] if len(own) == 1 else next((k for k in IMAGES if k in names), ""))
        if not key and "" not in names:
            raise HatchelError(
                f"{self.path} holds several arrays ({', '.join(names)}); choose one with data.key={own[0]}"
            )
        stored = open_array(path, key)
        labels = self.factors or next((k for k in FACTORS if k in names and k != key), "")
        codes, space = factor_codes(open_array(path, labels), stored.shape[0]) if labels else (None, None)
        name = path.stem
        if len(stored.shape) == 2:
            rows, columns = scaled_rows(stored.all(), str(path))
            return Dataset(name, rows, space, codes, columns)
        return Dataset(name, pixels(stored, self.cache), space, codes)


class Memory(Source):
    """An array given from Python; only its fingerprint can be written down."""

    fingerprint: str = ""
    "Of the data, so that a run's record says what it saw."

    def load(self) -> Dataset:
        raise HatchelError("data: this run was trained on an array given from Python; pass that array again")


def from_array(values: NDArray[Any]) -> Dataset:
    """A data set of images (n, H, W) or (n, H, W, C), bytes or floats in [0, 1], or of rows (n, F) of numbers."""
    if values.ndim == 2:
        rows, columns = scaled_rows(values, "data")
        return Dataset("array", rows, columns=columns)
    if values.ndim not in (3, 4):
        raise HatchelError(f"data: expected images (n, H, W[, C]) or rows (n, F), got the shape {values.shape}")
    images = as_bytes(values[..., None] if values.ndim == 3 else values, "data")
    return Dataset("array", np.ascontiguousarray(images))


def pixels(stored: FileArray, cache: bool) -> Pixels:
    """An array of images as uint8 (N, H, W, C), mapped in place where it already is."""
    where = f"{stored.path}{f' [{stored.key}]' if stored.key else ''}"
    shape = stored.shape
    if len(shape) not in (3, 4) or not all(shape):
        raise HatchelError(f"{where} has the shape {shape}; images are (N, H, W), (N, H, W, C) or (N, C, H, W)")
    first = len(shape) == 4 and shape[1] in (1, 3) and shape[3] not in (1, 3)
    if len(shape) == 4 and not first and shape[3] not in (1, 3):
        raise HatchelError(f"{where} has the shape {shape}; images have 1 or 3 channels, last or second")
    height, width = shape[2:] if first else shape[1:3]
    out = (shape[0], height, width, 1 if len(shape) == 3 else shape[1] if first else shape[3])
    if stored.mapped is not None and stored.dtype == np.uint8 and not first:
        return stored.mapped.reshape(out)

    def convert(block: NDArray[Any]) -> Pixels:
        images = as_bytes(block, where)
        return images.transpose(0, 2, 3, 1) if first else images.reshape(-1, *out[1:])

    return stored.converted(stored.path.stem, convert, out, "u1", cache and math.prod(out) > IN_MEMORY)


def as_bytes(values: NDArray[Any], where: str) -> Pixels:
    """Pixels as bytes, or an error that says what is wrong with them."""
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.bool_:
        return values * np.uint8(255)
    if not np.issubdtype(values.dtype, np.number) or np.issubdtype(values.dtype, np.complexfloating):
        raise HatchelError(f"{where} is not an array of numbers but of {values.dtype}")
    if not np.isfinite(values).all():
        raise HatchelError(f"{where} has NaN or infinite values; remove or replace them")
    low, high = values.min(), values.max()
    if np.issubdtype(values.dtype, np.integer):
        if low < 0 or high > 255:
            raise HatchelError(f"{where} has values from {low} to {high}; whole numbers must be from 0 to 255")
        return values.astype(np.uint8)
    if low < 0 or high > 1:
        raise HatchelError(f"{where} has values from {low:g} to {high:g}; scale them to [0, 1] or save bytes")
    return np.rint(values * 255).astype(np.uint8)


def scaled_rows(values: NDArray[Any], where: str) -> tuple[NDArray[np.float32], tuple[TableColumn, ...]]:
    """Rows (N, F) with mean 0 and variance 1 in each column, and what the columns are."""
    if not np.issubdtype(values.dtype, np.number):
        raise HatchelError(f"{where} is not an array of numbers but of {values.dtype}")
    rows = values.astype(np.float64)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise HatchelError(f"{where} has a NaN or infinite value in row {row}, column {column}; remove or replace it")
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    columns = tuple(
        TableColumn(f"column_{i}", "gaussian", 1, float(m), float(s))
        for i, (m, s) in enumerate(zip(mean, scale, strict=True))
    )
    return ((rows - mean) / scale).astype(np.float32), columns


def factor_codes(stored: FileArray, length: int) -> tuple[Integers | None, FactorSpace]:
    """Integer factors of each item and their space; no codes where the items are the whole grid in order."""
    values = stored.all()
    codes = values[:, None] if values.ndim == 1 else values
    where = f"{stored.path} [{stored.key}]"
    if codes.ndim != 2 or len(codes) != length:
        raise HatchelError(f"{where} has the shape {values.shape}; factors are ({length},) or ({length}, K)")
    whole = codes.astype(np.int64)
    if (whole != codes).any() or whole.min() < 0:
        raise HatchelError(f"{where}: factors must be whole numbers from 0")
    factors = (Factor(f"factor_{i}", tuple(float(v) for v in range(n + 1))) for i, n in enumerate(whole.max(axis=0)))
    space = FactorSpace(tuple(factors))
    if len(space) == length and (space.at(np.arange(length)) == whole).all():
        return None, space
    return whole, FactorSpace(space.factors, complete=False)
