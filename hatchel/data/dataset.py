"""Dataset: images or table rows by number, their factors, and batches for training."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.memory import read_at_random
from hatchel.data.decode import Decode, LazyArray, Pixels
from hatchel.data.factors import FactorSpace, Integers, checked_indices

if TYPE_CHECKING:
    from torch import Tensor

    from hatchel.data.table import TableColumn

    Reader = Callable[[Tensor], Tensor]
    """Item numbers (n,) to float32 (n, *shape) on a device: images in [0, 1] with the channels last in memory."""

MAX_ON_DEVICE = 2 << 30  # bytes that may be copied to a device once, so that batches are gathered there
GAP = 2  # pixels between the images of a contact sheet


@dataclass(frozen=True)
class Dataset:
    """Items by number; `space` is None where nothing is known of what causes their variation."""

    name: str
    array: NDArray[Any] | LazyArray
    """Images uint8 (N, H, W, C) or table rows float32 (N, F), or what `decode` turns into them."""
    space: FactorSpace | None = None
    codes: Integers | None = None
    """The factors (N, K) of every item, where the items are not the whole grid of the space in its order."""
    columns: tuple[TableColumn, ...] = ()
    """For a table: what the encoded values of a row are."""
    decode: Decode = Decode()  # noqa: RUF009 - it has no state
    known: str = ""
    """Its fingerprint, where the images are always the same ones: nothing has to be rendered for it."""

    def __post_init__(self) -> None:
        if len(self) == 0:
            raise HatchelError(f"{self.name} has no items")
        if self.codes is not None and len(self.codes) != len(self):
            raise HatchelError(f"{self.name} has {len(self)} items but factors for {len(self.codes)}")
        if self.space and self.codes is None and (not self.space.complete or len(self.space) != len(self)):
            raise HatchelError(f"{self.name} has {len(self)} items, its factors {len(self.space)} combinations")

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one item as a model sees it: (C, H, W) for images, (F,) for the rows of a table."""
        shape = self.decode.shape(self.array.shape[1:])
        return (shape[2], shape[0], shape[1]) if len(shape) == 3 else shape

    @property
    def likelihood(self) -> str:
        """The kind of likelihood that the data ask for."""
        return "columns" if self.columns else "bernoulli"

    def items(self, indices: ArrayLike) -> NDArray[Any]:
        """Images uint8 (n, H, W, C), or table rows float32 (n, F)."""
        return self.decode.items(self._stored(checked_indices(indices, len(self))))

    def images(self, indices: ArrayLike) -> Pixels:
        """Pixels 0 to 255: uint8 (n, H, W, C)."""
        if len(self.shape) != 3:
            raise HatchelError(f"{self.name} is a table and has no images; read its rows with items()")
        return self.items(indices)

    def factors(self, indices: ArrayLike) -> Integers | None:
        """What each item shows, as indices into the values of each factor: int (n, K); None where unknown."""
        if self.space is None:
            return None
        if self.codes is None:
            return self.space.at(indices)
        return self.codes[checked_indices(indices, len(self))]

    def split(self, seed: int, test: float = 0.1) -> tuple[Integers, Integers]:
        """Item numbers for training and for testing, drawn at random, each in ascending order."""
        held = round(len(self) * test)
        if not 0 <= test < 1 or held >= len(self):
            raise HatchelError(f"test={test} leaves nothing to train on; give a share from 0 to below 1")
        order = np.random.default_rng(seed).permutation(len(self))
        return np.sort(order[held:]), np.sort(order[:held])

    def reader(self, device: str = "cpu") -> Reader:
        """The fast way to batches: whole batches gathered, moved and decoded at once, no Python per item."""
        import torch

        stored, tensor = self._stored, torch.from_numpy
        if device == "cpu":
            batch = self.decode.batch
            return lambda indices: tensor(batch(stored(indices.numpy(force=True))))
        finish = self.decode.batch_on_device
        if not isinstance(self.array, LazyArray) and self.array.nbytes <= MAX_ON_DEVICE:
            kept = tensor(np.array(self.array)).to(device)
            return lambda indices: finish(kept.index_select(0, indices.to(device)))
        return lambda indices: finish(tensor(stored(indices.numpy(force=True))).to(device, non_blocking=True))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the shape and of up to 512 items spread over the whole: cheap, not a full checksum."""
        return self.known or self.measured_fingerprint()

    def measured_fingerprint(self) -> str:
        """The same from the items themselves."""
        some = np.unique(np.linspace(0, len(self) - 1, 512).astype(np.int64))
        digest = hashlib.sha256(repr((len(self), self.shape, self.space and self.space.sizes)).encode())
        digest.update(np.ascontiguousarray(self.items(some)).tobytes())
        factors = self.factors(some)
        if factors is not None:
            digest.update(factors.astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    @functools.cached_property
    def _stored(self) -> Callable[[Integers], NDArray[Any]]:
        if isinstance(self.array, LazyArray):
            return self.array.make
        if isinstance(self.array, np.memmap):
            read_at_random(self.array)
        # The same memory without numpy's memory-map class, which costs more than gathering a small batch does.
        return functools.partial(np.asarray(self.array).take, axis=0)


def contact_sheet(ds: Dataset, seed: int, columns: int = 10) -> Pixels:
    """What a data set looks like, in one image: uint8 (H, W, 3).

    One row per factor, from its first to its last value with the others held, where all combinations exist; then rows
    of random items.
    """
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, len(ds), columns) for _ in range(4)]
    if ds.space is not None and ds.space.complete:
        held = ds.space.sample(1, rng)
        rows = [_traversal(ds.space, held, factor, columns) for factor in range(len(ds.space.factors))] + rows[:2]
    images = ds.images(np.concatenate(rows))
    height, width, channels = images.shape[1:]
    page = np.full((len(rows), height + GAP, columns, width + GAP, 3), 128, dtype=np.uint8)
    shown = images[..., :3] if channels >= 3 else images[..., :1]
    page[:, :height, :, :width] = shown.reshape(len(rows), columns, height, width, -1).transpose(0, 2, 1, 3, 4)
    return page.reshape(len(rows) * (height + GAP), columns * (width + GAP), 3)


def _traversal(space: FactorSpace, held: Integers, factor: int, columns: int) -> Integers:
    line = np.repeat(held, columns, axis=0)
    line[:, factor] = np.linspace(0, space.sizes[factor] - 1, columns).round()
    return space.index(line)
