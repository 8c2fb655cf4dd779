"""The batch of all ranks, with gradient.

Every rank computes the loss of the WHOLE batch from gathered quantities; the backward of a gather sums the ranks'
gradients, and DistributedDataParallel's average then gives exactly the gradient of one process (the sum over ranks of
equal losses, divided by their number). Accelerate's and plain all_gather drop the gradient of the other ranks' parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def rank() -> int:
    """This process's number among all that train together (0 where there is one)."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def world() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def wait() -> None:
    """Until all processes have come here."""
    if world() > 1:
        dist.barrier()


def own_rows(x: Tensor) -> Tensor:
    """This rank's equal share of a tensor that is the same on all ranks."""
    share = x.shape[0] // world()
    return x[rank() * share : (rank() + 1) * share]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        parts = [torch.empty_like(x) for _ in range(world())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total)
        return own_rows(total)


def gather(x: Tensor) -> Tensor:
    """The rows of all ranks in rank order: (B, ...) -> (B * world, ...), differentiable."""
    if world() == 1:
        return x
    result = _Gather.apply(x)
    assert isinstance(result, Tensor)
    return result


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """As DistributedDataParallel leaves them, for a backward pass that it did not see."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    if world() == 1 or not gradients:
        return
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat)
    for gradient, total in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(total.view_as(gradient) / world())


def mean(x: Tensor) -> Tensor:
    """The mean over the rows of all ranks; a scalar is taken to be global already."""
    return x if x.ndim == 0 else gather(x).mean()
