"""Batches: what a step works on, as a function of the step alone."""

from __future__ import annotations

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.data.dataset import Dataset
from hatchel.objective.trace import Batch
from hatchel.training.spec import RunSpec

Read = Callable[[Tensor], Tensor]
"""Item numbers -> the items, on the device of the model."""


class Order:
    """Epochs without replacement; the last items of an epoch that do not fill a batch wait for another epoch.

    >>> order = Order(torch.arange(10), batch_size=5, seed=0)
    >>> sorted(torch.cat([order.batch(0), order.batch(1)]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, items: Tensor, batch_size: int, seed: int, stream: str = "order") -> None:
        if len(items) < batch_size:
            raise HatchelError(
                f"batch_size: {batch_size} is more than the {len(items)} items to train on; set batch_size={len(items)}"
            )
        if batch_size % world():
            raise HatchelError(f"batch_size: {batch_size} does not divide by {world()} processes")
        self.items = items
        self.batch_size = batch_size
        self._seed = seed
        self._stream = stream
        self._epoch = -1
        self._permutation = items

    def batch(self, step: int) -> Tensor:
        """This rank's item numbers at a step: (batch_size / world,)."""
        epoch, place = divmod(step, len(self.items) // self.batch_size)
        if epoch != self._epoch:
            chosen = torch.randperm(len(self.items), generator=generator(self._seed, self._stream, epoch))
            self._permutation, self._epoch = self.items[chosen], epoch
        return own_rows(self._permutation[place * self.batch_size : (place + 1) * self.batch_size])


class Batches:
    """The batch of each step, with the parts that the objective needs; refused where the data cannot give one."""

    def __init__(self, spec: RunSpec, data: Dataset, items: Tensor, needs: Collection[str] = ()) -> None:
        """`items`: the numbers of the items to train on; `needs`: names of optional fields of `Batch`."""
        self.data, self.n_data, self._seed = data, len(items), spec.seed
        self._order = Order(items, spec.batch_size, spec.seed)
        self._second = Order(items, spec.batch_size, spec.seed, "independent order") if "independent" in needs else None
        self._labelled = _labelled_order(spec, data, items) if "labelled" in needs else None

    def at(self, step: int, read: Read) -> Batch:
        """This rank's rows of the batch of a step."""
        x = read(self._order.batch(step))
        independent = read(self._second.batch(step)) if self._second is not None else None
        labelled = None
        if self._labelled is not None:
            numbers = self._labelled.batch(step)
            factors = self.data.factors(numbers.numpy())
            assert factors is not None
            labelled = (read(numbers), torch.from_numpy(factors).float().to(x.device))
        return Batch(x, self.n_data, step, self._seed, independent, labelled)


def _labelled_order(spec: RunSpec, data: Dataset, items: Tensor) -> Order:
    """Of `labels` items that were drawn once from the training items."""
    if data.space is None:
        raise HatchelError(f"objective: a term wants labels, and {data.name} has no factors; leave the term out")
    if not 2 <= spec.labels <= len(items):
        raise HatchelError(f"labels: a term wants labelled items; set labels from 2 to {len(items)}, got {spec.labels}")
    chosen = items[torch.randperm(len(items), generator=generator(spec.seed, "labels"))[: spec.labels]]
    size = min(spec.batch_size, spec.labels)
    return Order(chosen, size - size % world(), spec.seed, "labelled order")
