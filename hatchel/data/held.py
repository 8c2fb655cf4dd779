"""Data that a program holds: arrays, tensors, data frames, lists of pictures, torch data sets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.data.array import (
    FACTORS,
    IMAGES,
    IN_MEMORY,
    as_numbers,
    channels_first,
    channels_last,
    factor_codes,
    from_array,
)
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray, Pixels
from hatchel.data.images import cropped
from hatchel.data.source import Source
from hatchel.data.table import from_frame

SIZE = 64  # pixels of pictures that come in several sizes


class Memory(Source):
    """An array given from Python; only its fingerprint can be written down."""

    fingerprint: str = ""
    "Of the data, so that a run's record says what it saw."

    def load(self) -> Dataset:
        raise HatchelError(
            "data: this run was trained on data given from Python; pass them again: hatchel.load(folder, data=x), "
            "or save them to a file and name it with --data"
        )


def dataset_of(data: Any) -> Dataset:
    """What a program holds, as a data set.

    An array or tensor of images or rows, a DataFrame, a list of pictures (PIL, arrays or paths), a torch Dataset or
    DataLoader; or a pair (one of these, factors).
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, tuple) and len(cast(tuple[Any, ...], data)) == 2:
        return _given(*cast(tuple[Any, Any], data))
    return _given(data, None)


def _given(data: Any, factors: Any) -> Dataset:
    if hasattr(data, "to_pandas"):  # polars, Arrow
        data = data.to_pandas()
    if hasattr(data, "iloc"):
        found = from_frame(data)
        if factors is None:
            return found
        codes, space = factor_codes(as_numbers(factors), len(found), "data: the factors")
        return Dataset(found.name, found.array, space, codes, found.columns)
    if hasattr(data, "__array__") and not hasattr(data, "convert"):  # a PIL image has it too
        return from_array(as_numbers(data), None if factors is None else as_numbers(factors))
    loader = hasattr(data, "dataset") and hasattr(data, "batch_size")
    if loader and type(data.sampler).__name__ in ("SequentialSampler", "RandomSampler"):
        data, loader = data.dataset, False  # the same items, in an order that does not change
    if isinstance(data, str | bytes | Mapping) or not (hasattr(data, "__getitem__") or hasattr(data, "__iter__")):
        raise HatchelError(
            f"data: cannot train on a {type(data).__name__}; give an array or tensor of images (n, H, W, C) or rows "
            '(n, F), a DataFrame, a list of pictures, a torch Dataset, a path, or a name such as data="dsprites"'
        )
    return _of_items(data, factors, loader)


def _of_items(data: Any, factors: Any, batched: bool) -> Dataset:
    count = len(data) if hasattr(data, "__len__") else None
    if count == 0:
        raise HatchelError("data: has no items")
    if count and hasattr(data, "__getitem__") and not batched:
        shape = _item(data[0])[0].shape
        if count * math.prod(shape) > IN_MEMORY and not isinstance(data, list):
            first = len(shape) == 3 and channels_first((count, *shape), "data", "")
            out = (*shape[1:], shape[0]) if first else (*shape, 1)[:3]
            return Dataset("items", LazyArray(lambda i: _images([_item(data[int(n)])[0] for n in i]), (count, *out)))
    images: list[NDArray[Any]] = []
    labels: list[Any] = []
    source: Iterable[Any] = (data[i] for i in range(count)) if count and hasattr(data, "__getitem__") else data
    with progress("reading data", count) as advance:
        for item in source:
            x, label = _item(item)
            images += list(x) if batched else [x]
            labels += list(label) if batched and label is not None else [label]
            advance(1)
    known = factors if factors is not None else None if any(y is None for y in labels) else labels
    if len({x.shape for x in images}) > 1:
        return from_array(_resized(images), known)
    return from_array(np.stack(images), known)


def _item(item: Any) -> tuple[NDArray[Any], Any]:
    """What is learned from in an item of a list or a torch data set, and its label, if it has one."""
    label = None
    if isinstance(item, Mapping):
        found = cast(Mapping[str, Any], item)
        key = next((k for k in ("image", "img", *IMAGES) if k in found), "")
        if not key:
            raise HatchelError(f"data: an item has {', '.join(map(str, found))}, and no `image`; rename one")
        item, label = found[key], next((found[k] for k in ("label", *FACTORS) if k in found), None)
    elif isinstance(item, tuple | list):
        item, label = (*cast(tuple[Any, ...], item), None)[:2]
    if isinstance(item, str | Path):
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(item) as opened:
                opened.load()
                item = opened
        except (OSError, UnidentifiedImageError) as error:
            raise HatchelError(f"data: {item} cannot be read as an image ({error}); leave it out") from None
    if hasattr(item, "convert"):
        item = item.convert("L" if item.mode in ("1", "L", "I;16") else "RGB")
    label = as_numbers(label) if label is not None else None
    return as_numbers(item), label if label is None or np.issubdtype(label.dtype, np.integer) else None


def _images(items: Sequence[NDArray[Any]]) -> Pixels:
    values = np.stack(items)
    return channels_last(values, channels_first(values.shape, "data", ""), "data")


def _resized(images: Sequence[NDArray[Any]]) -> Pixels:
    from PIL import Image

    bad = next(
        (x for x in images if x.dtype != np.uint8 or x.ndim not in (2, 3) or x.shape[2:] not in ((), (3,))), None
    )
    if bad is not None:
        raise HatchelError(
            f"data: the items have different shapes, one is {bad.shape} of {bad.dtype}; bring them to one size, or "
            "give a list of PIL images, which are resized"
        )
    sizes = len({x.shape[:2] for x in images})
    warnings.warn(f"pictures of {sizes} sizes: trained on the centred square of each, {SIZE}x{SIZE}", stacklevel=2)
    colour = any(x.ndim == 3 for x in images)
    return np.stack([cropped(Image.fromarray(x), SIZE, SIZE, colour) for x in images])
