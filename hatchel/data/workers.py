"""Batches made ahead of time by worker processes, for data that are slow to make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from hatchel.data.store import Store


class _Batches:
    """A store as the map from a vector of item numbers to a batch that torch's DataLoader wants."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getitem__(self, numbers: Tensor) -> Tensor:
        return self.store.gatherer("cpu")(numbers)


def ahead(store: Store, numbers: Iterable[Tensor], workers: int) -> Iterator[Tensor]:
    """What the store's gatherer gives for each vector of item numbers, in order."""
    from torch.utils.data import DataLoader

    # batch_size=None: the sampler's items are whole batches, so nothing is collated item by item.
    yield from DataLoader(_Batches(store), batch_size=None, sampler=numbers, num_workers=workers)  # pyright: ignore[reportArgumentType]
