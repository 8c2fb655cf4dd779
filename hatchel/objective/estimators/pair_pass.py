"""MINE's reading and its lesson in one pass over the pairs, few at a time, so that they stay in the cache."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from hatchel.core.distributed import world
from hatchel.nets.layers import transformed

ROWS = 3840
"""So many rows of 128 hidden units at once, 30 pairs at a batch of 64: 2 MB a layer. A step of RecurD-1 takes 6 %
less than with 1280 on an AMD EPYC: fewer calls, and weights' gradients are added up less often."""
LEAST = -40.0
"""Of the log of what the product's lesson is scaled by; with less it adds nothing that float32 could hold."""

_mask = torch.ops.aten.threshold_backward.grad_input  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def pays(rows: Tensor) -> bool:
    """Whether the pass is for these rows: one process, a CPU, no half precision, a gradient, no transform of torch."""
    plain = rows.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")
    plain = plain and not transformed(rows)
    return plain and rows.device.type == "cpu" and rows.requires_grad and torch.is_grad_enabled() and world() == 1


def follow(log_average: Tensor, log_now: Tensor, decay: float) -> None:
    """Move an average, kept in logs because exp T overflows, towards its value now; NaN marks "no step yet"."""
    moved = torch.logaddexp(log_average + math.log(decay), log_now + math.log1p(-decay))
    log_average.copy_(torch.where(log_average.isnan(), log_now, moved))


Run = tuple[int, int, int]
"""i, j, count: the pairs of i with j, j + 1, ..., which are slices of what is kept for each member."""


def pieces(index: list[tuple[int, int]], most: int) -> list[list[Run]]:
    """Sorted pairs in pieces of at most so many, each piece in runs.

    >>> pieces([(0, 1), (0, 2), (1, 0), (1, 2)], most=3)
    [[(0, 1, 2), (1, 0, 1)], [(1, 2, 1)]]
    """
    found: list[list[Run]] = []
    for begin in range(0, len(index), most):
        runs: list[Run] = []
        for i, j in index[begin : begin + most]:
            if runs and (i, j) == (runs[-1][0], sum(runs[-1][1:])):
                runs[-1] = (i, runs[-1][1], runs[-1][2] + 1)
            else:
                runs.append((i, j, 1))
        found.append(runs)
    return found


class PairPass(Function):
    """The sum of the pairs' bounds and the sum of their losses, whose gradients go different ways.

    A row's score T has the derivative 1/B (joint) or -exp(T) / sum exp(T) (product) in the bound, and -1/B or
    exp(T - log average)/B in the loss: the same but for one number for each pair and half. All before T is worked out
    row by row, so that one backward pass carries both: weights take it as it is, samples times that number. It is made
    at once with the forward pass, while a piece is in the cache; `backward` scales what was found.
    """

    @staticmethod
    def forward(
        ctx: Any,
        index: list[tuple[int, int]],
        average: tuple[Tensor, float],  # its log, (P,), which moves, and its decay
        read_left: Tensor,  # V a_i, through which the samples get their gradient: (members, 2B, hidden)
        read_right: Tensor,
        left: Tensor,  # the same numbers, through which the weights get theirs
        right: Tensor,
        identity: Tensor,  # e_ij: (P, 1, hidden)
        *layers: Tensor,  # weight and bias of each further layer, of all pairs or of each
    ) -> tuple[Tensor, Tensor]:
        _, rows, width = left.shape
        half, shared = rows // 2, len(layers[0]) == 1
        samples = [torch.zeros_like(read_left), torch.zeros_like(read_right)]
        weights = [torch.zeros_like(t) for t in (left, right, identity, *layers)]
        averages = _Averages(*average, half)
        many = max(1, ROWS // rows) if shared else 1
        buffers = left.new_empty(len(layers) // 2 + 2, many * rows, width)
        begin = 0
        for runs in pieces(index, many):
            group, end = 0 if shared else begin, begin + sum(count for _, _, count in runs)
            own, to_own = [t[group] for t in layers], [t[group] for t in weights[3:]]
            *x, signal, spare = buffers[:, : (end - begin) * rows].unbind()
            first = x[0].view(-1, rows, width)
            for (i, j, count), to_first in zip(runs, _split(first, runs), strict=True):
                torch.add(right[j : j + count], left[i], out=to_first)
            first.add_(identity[begin:end]).relu_()
            for k in range(len(x) - 1):
                torch.addmm(own[2 * k + 1], x[k], own[2 * k], out=x[k + 1]).relu_()
            scores = torch.addmm(own[-1], x[-1], own[-2]).view(-1, rows)

            to_bound = averages.slopes_(scores, begin, end)
            slopes = scores.view(-1, 1)
            to_own[-2].addmm_(x[-1].T, slopes)
            torch.mul(slopes, own[-2].T, out=signal)
            for k in range(len(x) - 1, 0, -1):
                _mask(signal, x[k], 0, grad_input=signal)
                to_own[2 * k - 2].addmm_(x[k - 1].T, signal)
                to_own[2 * k - 1].add_(signal.sum(0))
                torch.mm(signal, own[2 * k - 2].T, out=spare)
                signal, spare = spare, signal
            _mask(signal, x[0], 0, grad_input=signal)
            first = signal.view(-1, rows, width)
            torch.sum(first, 1, keepdim=True, out=weights[2][begin:end])
            for (i, j, count), part in zip(runs, _split(first, runs), strict=True):
                weights[0][i].add_(part[0] if count == 1 else part.sum(0))
                weights[1][j : j + count].add_(part)
            of_bound = first[:, half:].mul_(to_bound[:, :, None])
            for (i, j, count), part in zip(runs, _split(of_bound, runs), strict=True):
                samples[0][i, half:].add_(part[0] if count == 1 else part.sum(0))
                samples[1][j : j + count, half:].add_(part)
            begin = end
        for of_samples, of_weights in zip(samples, weights, strict=False):
            of_samples[:, :half] = -of_weights[:, :half]  # the joint's number is -1 for every pair
        weights[-1] += (averages.product - 1).view(-1, 1, 1).sum_to_size(weights[-1].shape)
        ctx.samples, ctx.weights = samples, weights
        return averages.bounds.sum(), averages.losses.sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_bound, of_loss = gradients
        return None, None, *(of_bound * t for t in ctx.samples), *(of_loss * t for t in ctx.weights)


def _split(x: Tensor, runs: list[Run]) -> tuple[Tensor, ...]:
    return x.split([count for _, _, count in runs])


class _Averages:
    """What is known of each pair of its scores, and the moving average of exp T, kept in logs because it overflows."""

    def __init__(self, log_average: Tensor, decay: float, half: int) -> None:
        new = log_average.isnan()  # no step yet: it begins where the first batch is
        self._old = torch.where(new, -torch.inf, log_average + math.log(decay))
        self._share = torch.full_like(log_average, math.log1p(-decay)).masked_fill_(new, 0.0) - math.log(half)
        self._log_average, self._half = log_average, half
        self._log_sum, self._joint, self._used = (torch.empty_like(log_average) for _ in range(3))

    def slopes_(self, scores: Tensor, begin: int, end: int) -> Tensor:
        """Scores (pairs, 2B) become their derivatives in the loss; what the product's are in the bound, to that."""
        of_product, log_sum, used = scores[:, self._half :], self._log_sum[begin:end], self._used[begin:end]
        torch.mean(scores[:, : self._half], 1, out=self._joint[begin:end])
        torch.logsumexp(of_product, 1, out=log_sum)
        moved = self._log_average[begin:end]
        torch.logaddexp(self._old[begin:end], log_sum + self._share[begin:end], out=moved)
        torch.minimum(moved + math.log(self._half), log_sum - LEAST, out=used)
        of_product.sub_(used[:, None]).exp_()
        scores[:, : self._half] = -1 / self._half
        return (used - log_sum).exp_().neg_()[:, None]

    @property
    def product(self) -> Tensor:
        """Sum of the product's slopes, of each pair."""
        return (self._log_sum - self._used).exp()

    @property
    def bounds(self) -> Tensor:
        return self._joint - self._log_sum + math.log(self._half)

    @property
    def losses(self) -> Tensor:
        return (self._log_sum - math.log(self._half) - self._log_average).exp() - self._joint
