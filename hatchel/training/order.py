"""Order: which items make up the batch of a step, as a function of the step alone."""

from __future__ import annotations

import torch
from torch import Tensor

from hatchel.distributed import own_rows, world
from hatchel.errors import HatchelError
from hatchel.streams import generator


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
