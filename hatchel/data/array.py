"""Your own arrays of images or of rows: in an npy, npz or HDF5 file, or in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import added, local
from hatchel.data.cache import spans
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray, Pixels
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.formats import PER_PART, FileArray, array_names, open_array
from hatchel.data.source import Source
from hatchel.data.table import TableColumn

IMAGES = ("images", "imgs", "x", "data", "arr_0")
FACTORS = ("factors", "labels", "y")
IN_MEMORY = 1 << 30  # bytes that are simply read; more go through the cache, or are read batch by batch
CHANNELS = 4  # at most, for an array to say by its shape where they are

Layout = Literal["", "first", "last"]


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
    channels: Layout = added(default="")
    "Where an image's channels are, (N, C, H, W) or (N, H, W, C); empty: by the shape, if that has 1 to 4 in one place."
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
        codes, space = None, None
        if labels:
            codes, space = factor_codes(open_array(path, labels).all(), stored.shape[0], f"{path} [{labels}]")
        name = path.stem
        if len(stored.shape) != 2:
            return Dataset(name, pixels(stored, self.cache, self.channels), space, codes)
        if 8 * math.prod(stored.shape) <= IN_MEMORY:
            rows, columns = scaled_rows(stored.all(), str(path))
        else:
            columns, convert = scaling(lambda: stored.blocks(PER_PART // (8 * stored.shape[1]) + 1), str(path))
            rows = stored.converted(name, convert, stored.shape, "<f4", self.cache)
        return Dataset(name, rows, space, codes, columns)


def from_array(
    values: ArrayLike, factors: ArrayLike | None = None, *, names: Sequence[str] = (), channels: Layout = ""
) -> Dataset:
    """A data set of images (n, H, W), (n, H, W, C) or (n, C, H, W), bytes or floats in [0, 1], or of rows (n, F).

    `factors`: whole numbers from 0, (n,) or (n, K), with their `names`. `channels`: "first" or "last" where the shape
    does not say. What is large and cannot be used as it is, is converted batch by batch: a memory map is never read
    whole.
    """
    array = as_numbers(values)
    if array.ndim not in (2, 3, 4) or not all(array.shape):
        raise HatchelError(
            f"data: expected images (n, H, W), (n, H, W, C) or (n, C, H, W) or rows (n, F), got the shape {array.shape}"
        )
    codes, space = None, None
    if factors is not None:
        codes, space = factor_codes(as_numbers(factors), len(array), "data: the factors", names)
    large = array.nbytes > IN_MEMORY
    if array.ndim == 2:
        if not large:
            rows, columns = scaled_rows(array, "data")
            return Dataset("array", rows, space, codes, columns)
        parts = spans(len(array), PER_PART // (8 * array.shape[1]) + 1)
        columns, convert = scaling(lambda: (array[start:stop] for start, stop in parts), "data")
        return Dataset("array", LazyArray(lambda i: convert(array[i]), array.shape), space, codes, columns)
    first = channels_first(array.shape, "data", channels)
    if large and (first or array.dtype != np.uint8):
        out = array.shape[2:] + array.shape[1:2] if first else (*array.shape[1:], 1)[:3]
        return Dataset(
            "array", LazyArray(lambda i: channels_last(array[i], first, "data"), (len(array), *out)), space, codes
        )
    return Dataset("array", np.ascontiguousarray(channels_last(array, first, "data")), space, codes)


def as_numbers(values: Any) -> NDArray[Any]:
    """An array, a tensor or nested lists as an array."""
    if hasattr(values, "detach"):  # a torch tensor, maybe on another device, maybe in a type that numpy lacks
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        return np.asarray(values)
    except ValueError:
        raise HatchelError("data: the factors or rows have different lengths; give an array (n, K)") from None


def channels_last(values: NDArray[Any], first: bool, where: str) -> Pixels:
    """As bytes with the channels last: (n, H, W, C)."""
    images = as_bytes(values, where)
    return images.transpose(0, 2, 3, 1) if first else images if images.ndim == 4 else images[..., None]


def channels_first(shape: tuple[int, ...], where: str, channels: Layout) -> bool:
    """Whether images of that shape have their channels second; where it does not say so itself, the question which."""
    if len(shape) == 3 and shape[2] in (1, 3, 4) and shape[2] < min(shape[:2]):
        n, height, width = shape
        raise HatchelError(
            f"{where} has the shape {shape}: one image is x[None], {n} grey images of {height}x{width} are "
            "x[..., None]; give the one that it is"
        )
    if len(shape) == 3 or channels:
        return channels == "first" and len(shape) == 4
    second, last = (shape[axis] <= CHANNELS for axis in (1, 3))
    if second == last:
        how = 'data__channels="first" or "last", or give data=hatchel.data.from_array(x, channels="first")'
        raise HatchelError(
            f"{where} has the shape {shape}: are its channels second or last? Set "
            + (how if where == "data" else "data.channels=first or data.channels=last")
        )
    return second


def pixels(stored: FileArray, cache: bool, channels: Layout = "") -> Pixels:
    """An array of images as uint8 (N, H, W, C), mapped in place where it already is."""
    where = f"{stored.path}{f' [{stored.key}]' if stored.key else ''}"
    shape = stored.shape
    if len(shape) not in (3, 4) or not all(shape):
        raise HatchelError(f"{where} has the shape {shape}; images are (N, H, W), (N, H, W, C) or (N, C, H, W)")
    first = channels_first(shape, where, channels)
    out = (shape[0], *shape[2:], shape[1]) if first else (*shape, 1)[:4]
    if stored.mapped is not None and stored.dtype == np.uint8 and not first:
        return stored.mapped.reshape(out)
    large = cache and math.prod(out) > IN_MEMORY
    return stored.converted(stored.path.stem, lambda block: channels_last(block, first, where), out, "u1", large)


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
        how = "x / 255" if low >= 0 and high <= 255 else "(x + 1) / 2" if low >= -1 and high <= 1 else "bytes 0 to 255"
        raise HatchelError(f"{where} has values from {low:g} to {high:g}; scale them to [0, 1]: give {how}")
    return np.rint(values * 255).astype(np.uint8)


def scaled_rows(values: NDArray[Any], where: str) -> tuple[NDArray[np.float32], tuple[TableColumn, ...]]:
    """Rows (N, F) with mean 0 and variance 1 in each column, and what the columns are."""
    rows = _finite(values, where, 0)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    columns = _columns(mean, scale)
    return ((rows - mean) / np.where(scale > 0, scale, 1.0)).astype(np.float32), columns


def scaling(
    blocks: Callable[[], Iterator[NDArray[Any]]], where: str
) -> tuple[tuple[TableColumn, ...], Callable[[NDArray[Any]], NDArray[np.float32]]]:
    """The same for rows that are read some at a time: the columns, and the conversion of a block."""
    count, shift, total, squares = 0, None, np.zeros(1), np.zeros(1)
    for block in blocks():
        rows = _finite(block, where, count)
        shift = rows.mean(axis=0) if shift is None else shift  # or squares of large numbers would swallow the variance
        count, total = count + len(rows), total + (rows - shift).sum(axis=0)
        squares = squares + ((rows - shift) ** 2).sum(axis=0)
    assert shift is not None  # no data set is empty
    mean = shift + total / count
    columns = _columns(mean, np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0)))
    scale = np.array([c.scale for c in columns])
    return columns, lambda block: ((block - mean) / scale).astype(np.float32)


def _finite(values: NDArray[Any], where: str, start: int) -> NDArray[np.float64]:
    if not np.issubdtype(values.dtype, np.number):
        raise HatchelError(f"{where} is not an array of numbers but of {values.dtype}")
    rows = values.astype(np.float64)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise HatchelError(
            f"{where} has a NaN or infinite value in row {start + row}, column {column}; remove or replace it"
        )
    return rows


def _columns(mean: NDArray[np.float64], scale: NDArray[np.float64]) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(f"column_{i}", "gaussian", 1, float(m), float(s) or 1.0)
        for i, (m, s) in enumerate(zip(mean, scale, strict=True))
    )


def factor_codes(
    values: NDArray[Any], length: int, where: str, names: Sequence[str] = ()
) -> tuple[Integers | None, FactorSpace]:
    """Integer factors of each item and their space; no codes where the items are the whole grid in order."""
    codes = values[:, None] if values.ndim == 1 else values
    if codes.ndim != 2 or len(codes) != length:
        raise HatchelError(f"{where} has the shape {values.shape}; factors are ({length},) or ({length}, K)")
    if not np.issubdtype(codes.dtype, np.number) or (codes.astype(np.int64) != codes).any() or codes.min() < 0:
        raise HatchelError(
            f"{where}: factors must be whole numbers from 0; number the values of one with "
            "np.unique(values, return_inverse=True)[1]"
        )
    whole = codes.astype(np.int64)
    if names and len(names) != whole.shape[1]:
        raise HatchelError(f"{where} has {whole.shape[1]} factors, names has {len(names)}; name each of them")
    names = names or [f"factor_{i}" for i in range(whole.shape[1])]
    sizes = zip(names, whole.max(axis=0), strict=True)
    space = FactorSpace(tuple(Factor(name, tuple(float(v) for v in range(n + 1))) for name, n in sizes))
    if len(space) == length and (space.at(np.arange(length)) == whole).all():
        return None, space
    return whole, FactorSpace(space.factors, complete=False)
