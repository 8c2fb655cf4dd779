"""Data that a program holds: arrays, tensors, data frames, lists of pictures, torch data sets."""

from __future__ import annotations

import dataclasses
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
    Layout,
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
from hatchel.data.table import frame_factors, from_frame

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


def dataset_of(data: Any, options: Mapping[str, Any] | None = None) -> Dataset:
    """What a program holds, as a data set.

    An array or tensor of images or rows, a DataFrame, a list of pictures (PIL, arrays or paths), a torch Dataset or
    DataLoader; or a pair (one of these, factors). Factors are whole numbers from 0, or a DataFrame with their names.
    `options`: `channels` ("first", "last") of images, `size` of pictures that differ in size, those of `from_frame`.
    """
    options = options or {}
    if isinstance(data, Dataset):
        _known(options, (), "a data set that is already made")
        return data
    if isinstance(data, tuple) and len(cast(tuple[Any, ...], data)) == 2:
        return _given(*cast(tuple[Any, Any], data), options)
    return _given(data, None, options)


def dataset_like(data: Any, shape: tuple[int, ...]) -> Dataset:
    """The same for a model that has seen items of a shape, (C, H, W) or (F,): what was asked then is known by now."""
    of = cast(tuple[Any, Any], data)[0] if isinstance(data, tuple) else data
    options: dict[str, Any] = {}
    if len(shape) == 3 and len(getattr(of, "shape", ())) == 4:
        options["channels"] = "first" if tuple(of.shape[1:]) == shape else "last"
    elif len(shape) == 3 and shape[1] == shape[2] and isinstance(of, list):
        sizes = {getattr(item, "size", None) for item in cast(list[Any], of)}
        if all(isinstance(size, tuple) for size in sizes) and sizes != {shape[1:]}:  # pictures, which were resized
            options["size"] = shape[1]
    return dataset_of(data, options)


def _known(options: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Refuse an option that nothing would read."""
    for name in options:
        if name not in names:
            has = f"has {' and '.join(f'data__{known}' for known in names)} only" if names else "has no options"
            raise HatchelError(f"data.{name}: {what} {has}; leave it out")


def _given(data: Any, factors: Any, options: Mapping[str, Any]) -> Dataset:
    if hasattr(data, "to_pandas"):  # polars, Arrow
        data = data.to_pandas()
    if hasattr(data, "to_frame"):  # a column of a table
        data = data.to_frame()
    if hasattr(data, "toarray"):  # scipy's sparse matrices
        data = data.toarray()
    if _nested(data):
        data = as_numbers(data)
    if hasattr(data, "iloc"):
        found = from_frame(data, **options)
        return found if factors is None else with_factors(found, factors)
    if hasattr(data, "__array__") and not hasattr(data, "convert"):  # a PIL image has it too
        _known(options, ("channels",), "an array")
        return with_factors(from_array(as_numbers(data), channels=_layout(options)), factors)
    loader = hasattr(data, "dataset") and hasattr(data, "batch_size")
    if loader and type(data.sampler).__name__ in ("SequentialSampler", "RandomSampler"):
        data, loader = data.dataset, False  # the same items, in an order that does not change
    if isinstance(data, str | bytes | Mapping) or not (hasattr(data, "__getitem__") or hasattr(data, "__iter__")):
        kind = type(data).__name__
        raise HatchelError(
            f"data: cannot train on {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}; give an array or tensor of "
            "images (n, H, W, C) or rows (n, F), a DataFrame, a list of pictures, a torch Dataset, a path, or a name "
            'such as data="dsprites"'
        )
    _known(options, ("channels", "size"), "a list of pictures")
    return _of_items(data, factors, loader, options)


def _nested(data: Any) -> bool:
    """Whether it is an array in lists, not items with their labels: its first item is numbers, or lists in one."""
    first: Any = data[0] if isinstance(data, list) and data else None
    inner: Any = first[:1] if isinstance(first, list | tuple) else ()
    return any(isinstance(x, int | float) or (isinstance(x, list) and isinstance(first, list)) for x in inner)


def with_factors(data: Dataset, factors: Any) -> Dataset:
    """The items with what is known of each: numbers (n,) or (n, K), or a DataFrame with a column for each factor."""
    if factors is None:
        return data
    if hasattr(factors, "to_frame"):  # a pandas Series
        factors = factors.to_frame()
    if hasattr(factors, "iloc"):
        space, codes = frame_factors(factors, len(data))
    else:
        codes, space = factor_codes(as_numbers(factors), len(data), "data: the factors")
    return dataclasses.replace(data, space=space, codes=codes)


def _layout(options: Mapping[str, Any]) -> Layout:
    found = options.get("channels", "")
    if found not in ("", "first", "last"):
        raise HatchelError(f'data.channels: must be "first" or "last", got {found!r}')
    return found


def _of_items(data: Any, factors: Any, batched: bool, options: Mapping[str, Any]) -> Dataset:
    layout = _layout(options)
    try:
        count = len(data)
    except TypeError:  # a loader has the method even where its items are a stream
        count = None
    if count == 0:
        raise HatchelError("data: has no items")
    if count and hasattr(data, "__getitem__") and not batched:
        shape = _item(data[0])[0].shape
        if count * math.prod(shape) > IN_MEMORY and not isinstance(data, list):
            first = len(shape) == 3 and channels_first((count, *shape), "data", layout)
            out = (*shape[1:], shape[0]) if first else (*shape, 1)[:3]
            read = LazyArray(lambda i: _images([_item(data[int(n)])[0] for n in i], first), (count, *out))
            return with_factors(Dataset("items", read), factors)
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
    if "size" in options or len({x.shape for x in images}) > 1:
        return with_factors(from_array(_resized(images, options.get("size", SIZE)), channels="last"), known)
    return with_factors(from_array(np.stack(images), channels=layout), known)


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


def _images(items: Sequence[NDArray[Any]], first: bool) -> Pixels:
    return channels_last(np.stack(items), first, "data")


def _resized(images: Sequence[NDArray[Any]], size: Any) -> Pixels:
    from PIL import Image

    if not isinstance(size, int) or size < 1:
        raise HatchelError(f"data.size: must be a whole number of pixels from 1, such as data__size=32; got {size!r}")

    bad = next(
        (x for x in images if x.dtype != np.uint8 or x.ndim not in (2, 3) or x.shape[2:] not in ((), (3,))), None
    )
    if bad is not None:
        raise HatchelError(
            f"data: the items have different shapes, one is {bad.shape} of {bad.dtype}; bring them to one size, or "
            "give a list of PIL images, which are resized"
        )
    sizes = len({x.shape[:2] for x in images})
    if sizes > 1:
        warnings.warn(
            f"pictures of {sizes} sizes: trained on the centred square of each, {size}x{size} (data__size={size})",
            stacklevel=2,
        )
    colour = any(x.ndim == 3 for x in images)
    return np.stack([cropped(Image.fromarray(x), size, size, colour) for x in images])
