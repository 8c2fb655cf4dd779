"""Order: which items make up the batch of a step, as a function of the step alone; labelled items too."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.data.dataset import Dataset
from hatchel.training.spec import RunSpec


class Order:
    """Epochs without replacement; the last items of an epoch that do not fill a batch wait for another epoch.

    >>> order = Order(torch.arange(10), batch_size=5, seed=0)
    >>> sorted(torch.cat([order.batch(0), order.batch(1)]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, items: Tensor, batch_size: int, seed: int, stream: str = "order") -> None:
        if len(items) < batch_size:
            raise HatchelError(f"batch_size: {batch_size} is more than the {len(items)} items to train on; lower it")
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


LabelledBatch = Callable[[int], tuple[Tensor, Tensor]]
"""step -> this rank's item numbers (M,) and their factors (M, K)."""


def labelled_batches(spec: RunSpec, data: Dataset, items: Tensor) -> LabelledBatch:
    """Batches of `labels` items that were drawn once from the training items; refused where there is nothing to see."""
    if data.space is None:
        raise HatchelError(f"objective: a term wants labels, and {data.name} has no factors; leave the term out")
    if not 2 <= spec.labels <= len(items):
        raise HatchelError(f"labels: a term wants labelled items; set labels from 2 to {len(items)}, got {spec.labels}")
    chosen = items[torch.randperm(len(items), generator=generator(spec.seed, "labels"))[: spec.labels]]
    size = min(spec.batch_size, spec.labels)
    order = Order(chosen, size - size % world(), spec.seed, "labelled order")

    def batch(step: int) -> tuple[Tensor, Tensor]:
        numbers = order.batch(step)
        factors = data.factors(numbers.numpy())
        assert factors is not None
        return numbers, torch.from_numpy(factors).float()

    return batch
