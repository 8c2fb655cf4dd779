"""Dataset: images or rows by number, their factors, and batches for training."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hatchel.core.errors import HatchelError
from hatchel.data.columns import Column
from hatchel.data.factors import FactorSpace, Integers, checked_indices
from hatchel.data.store import Pixels, Store

if TYPE_CHECKING:
    from torch import Tensor

    Reader = Callable[[Tensor], Tensor]
    """Item numbers (n,) to float32 (n, *shape) on a device: images in [0, 1] with the channels last in memory."""


@dataclass(frozen=True)
class Dataset:
    """Items by number; `space` is None where nothing is known of what causes their variation."""

    name: str
    store: Store
    space: FactorSpace | None = None
    codes: Integers | None = None
    """The factors (N, K) of every item, where the items are not the whole grid of the space in its order."""
    columns: tuple[Column, ...] = ()
    """For a table: what the encoded values of a row are."""

    def __post_init__(self) -> None:
        if len(self.store) == 0:
            raise HatchelError(f"{self.name} has no items")
        if self.codes is not None and len(self.codes) != len(self.store):
            raise HatchelError(f"{self.name} has {len(self.store)} items but factors for {len(self.codes)}")
        if self.space and self.codes is None and (not self.space.complete or len(self.space) != len(self.store)):
            raise HatchelError(f"{self.name} has {len(self.store)} items, its factors {len(self.space)} combinations")

    def __len__(self) -> int:
        return len(self.store)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one item as a model sees it: (C, H, W) for images, (F,) for the rows of a table."""
        shape = self.store.shape
        return (shape[2], shape[0], shape[1]) if len(shape) == 3 else shape

    @property
    def likelihood(self) -> str:
        """The kind of likelihood that the data ask for."""
        return "columns" if self.columns else "bernoulli"

    def images(self, indices: ArrayLike) -> Pixels:
        """Pixels 0 to 255: uint8 (n, H, W, C)."""
        if len(self.store.shape) != 3:
            raise HatchelError(f"{self.name} is a table and has no images; read its rows with reader()")
        return self.store.take(checked_indices(indices, len(self)))

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
        """The fast way to batches: whole batches gathered, moved and converted at once, no Python per item."""
        if device == "cpu":
            import torch

            batch, tensor = self.store.batch, torch.from_numpy
            return lambda indices: tensor(batch(indices.numpy(force=True)))
        gather, finish = self.store.gatherer(device), self.store.finish
        return lambda indices: finish(gather(indices))

    def batches(self, numbers: Iterable[Tensor], device: str = "cpu", workers: int = 0) -> Iterator[Tensor]:
        """A batch for each vector of item numbers; with `workers`, other processes prepare them ahead of time.

        For data that are slow to make: images decoded from files, or read from a compressed file.
        """
        if workers == 0:
            yield from map(self.reader(device), numbers)
            return
        from hatchel.data.workers import ahead

        for batch in ahead(self.store, numbers, workers):
            yield self.store.finish(batch.to(device, non_blocking=True))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the shape and of up to 512 items spread over the whole: cheap, not a full checksum."""
        some = np.unique(np.linspace(0, len(self) - 1, 512).astype(np.int64))
        digest = hashlib.sha256(repr((len(self), self.shape, self.space and self.space.sizes)).encode())
        digest.update(np.ascontiguousarray(self.store.take(some)).tobytes())
        factors = self.factors(some)
        if factors is not None:
            digest.update(factors.astype("<i8").tobytes())
        return digest.hexdigest()[:16]
