"""log q(z) as the exact mixture of posteriors, streamed: never R x B x D in memory at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hatchel.latents.layout import Partition
from hatchel.latents.posterior import Posterior
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.trace import Trace

LogWeights = Callable[[int, int, int, int], Tensor]
"""(row start, row stop, column start, column stop) -> log w of the columns for the rows, broadcastable to (R, B)."""

BUDGET = 2**22
"""Elements of the largest intermediate, (blocks + sites) x rows x columns: 16 MB in float32, of which a few live."""


def log_mixture(q: Posterior, z: Tensor, blocks: Partition, log_weights: LogWeights, budget: int = BUDGET) -> Tensor:
    """log sum_j w_ij q(z_i,block | x_j) for codes z (R, D) under the posteriors q of B inputs: (len(blocks), R).

    Rows and columns are taken in tiles; with gradient, a tile is computed again in the backward pass, not kept.
    """
    plan = _Plan(q, blocks, log_weights, z.shape[0], budget)
    if plan.single:
        return plan.tile(q, z, 0, 0).logsumexp(2)
    inputs: list[Tensor] = []
    q.map_tensors(lambda t: inputs.append(t) or t)
    result = _Streamed.apply(plan, z, *inputs)
    assert isinstance(result, Tensor)
    return result


@dataclass
class _Plan:
    """What is summed, and in which tiles."""

    q: Posterior
    blocks: Partition
    log_weights: LogWeights
    rows: int
    budget: int

    def __post_init__(self) -> None:
        self.columns = self.q.mean.shape[0]
        cost = len(self.blocks) + len(self.q.layout.sites)
        self.width = max(1, min(self.columns, self.budget // (cost * min(self.rows, 64))))
        self.height = max(1, min(self.rows, self.budget // (cost * self.width)))
        self.single = self.height >= self.rows and self.width >= self.columns

    def corners(self) -> Iterator[tuple[int, int]]:
        for top in range(0, self.rows, self.height):
            for left in range(0, self.columns, self.width):
                yield top, left

    def tile(self, q: Posterior, z: Tensor, top: int, left: int) -> Tensor:
        """The summands' logarithms of one tile's columns for its rows: (len(blocks), height, width)."""
        bottom, right = min(self.rows, top + self.height), min(self.columns, left + self.width)
        cross = q.map_tensors(lambda t: t[left:right]).cross_log_prob(z[top:bottom], self.blocks)
        return cross + self.log_weights(top, bottom, left, right)


class _Streamed(torch.autograd.Function):
    """Outputs and gradients are allocated once and filled tile by tile.

    (torch.utils.checkpoint would do, but the small things it keeps of each tile land between the tiles' large blocks,
    and the heap grows as if every tile had been kept.)
    """

    @staticmethod
    def forward(ctx: Any, plan: _Plan, z: Tensor, *inputs: Tensor) -> Tensor:
        total = z.new_full((len(plan.blocks), plan.rows), -torch.inf)
        for top, left in plan.corners():
            rows = slice(top, top + plan.height)
            total[:, rows] = torch.logaddexp(total[:, rows], plan.tile(plan.q, z, top, left).logsumexp(2))
        ctx.plan = plan
        ctx.save_for_backward(total, z, *inputs)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        plan: _Plan = ctx.plan
        total, *saved = ctx.saved_tensors
        leaves = [t.detach().requires_grad_() for t in saved]
        z, inputs = leaves[0], iter(leaves[1:])
        q = plan.q.map_tensors(lambda _: next(inputs))
        for top, left in plan.corners():
            rows = slice(top, top + plan.height)
            with torch.enable_grad():
                summands = plan.tile(q, z, top, left)
            # d log(sum) / d log(summand) = summand / sum.
            shares = (summands.detach() - total[:, rows, None]).exp_()
            summands.backward(shares.mul_(gradients[0][:, rows, None]))
        return (None, *(leaf.grad for leaf in leaves))


class Exact(Density):
    """q(z) = 1/N sum_j q(z|x_j) over the posteriors of the batch: exact when the batch is the data (B = N).

    With fewer posteriors the own one has too large a share: log q(z) is then at least log(1/B) + log q(z|x).
    """

    def log_q(self, t: Trace, blocks: Partition) -> Tensor:
        return exact_log_q(t.q.gathered(), t.z, blocks)


def exact_log_q(q: Posterior, z: Tensor, blocks: Partition) -> Tensor:
    """log 1/N sum_j q(z_i,block | x_j) for codes z (R, D) under N posteriors, in tiles: (len(blocks), R)."""
    log_weight = torch.full((1, 1), -math.log(q.mean.shape[0]), dtype=z.dtype, device=z.device)
    return log_mixture(q, z, blocks, lambda *_: log_weight)
