"""Labels: the few items whose factors a semi-supervised term may see."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hatchel.data.dataset import Dataset
from hatchel.distributed import world
from hatchel.errors import HatchelError
from hatchel.streams import generator
from hatchel.training.order import Order
from hatchel.training.spec import RunSpec

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
