"""Independent readings of what critics estimate: from samples alone, without a network that may be blind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from hatchel.latents.layout import Layout, Partition
from hatchel.nets.part import Shape
from hatchel.objective.estimators.estimator import Items, Pairs

NUMBERS = 16
"""Of each wide feature, as many of its numbers are read, evenly spaced: what a part of it tells is a lower bound."""
BINS = 10
"""Of a histogram, each half a standard deviation wide."""
SHARE, NEGLIGIBLE = 0.2, 0.1
"""A critic is blind where it reads less than this share of an independent reading of more nats than that."""


class Reading(ABC):
    """A quantity of a window of recent samples."""

    columns: list[int]
    """Of the rows that the critic is shown: those that this needs."""

    @abstractmethod
    def value(self, rows: Tensor) -> float | None:
        """In nats, from rows (n, columns); None where they are too few."""


class GaussianReading(Reading):
    """Total correlation as if the code were Gaussian (Cheng et al. 2020, Prop. 1), without the bias of few rows.

    For Gaussian rows E log|S| of n of them is log|Sigma| + sum_i psi((n - i) / 2) + const., i = 1 .. D, exactly. Of a
    class the last column is left out, which the others determine.
    """

    def __init__(self, partition: Partition, layout: Layout) -> None:
        self.columns, self.sizes, place = [], [], 0
        for block in partition:
            widths = [len(layout.sites[s].columns) for s in block]
            self.sizes.append(sum(max(1, width - 1) for width in widths))
            for width in widths:
                self.columns += range(place, place + max(1, width - 1))
                place += width

    def value(self, rows: Tensor) -> float | None:
        n, width = rows.shape
        if n < max(2 * width, 64):
            return None
        x = rows - rows.mean(0)
        x = x / x.square().mean(0).sqrt().clamp_min(1e-12)
        whole = (x.T @ x).double() / n + 1e-9 * torch.eye(width, dtype=torch.float64, device=x.device)
        ends = list(accumulate(self.sizes))
        blocks = [whole[end - size : end, end - size : end] for end, size in zip(ends, self.sizes, strict=True)]

        def log_determinant(matrix: Tensor) -> float:
            places = torch.arange(1, len(matrix) + 1, dtype=torch.float64)
            return float(torch.linalg.slogdet(matrix)[1]) - float(torch.digamma((n - places) / 2).sum())

        return 0.5 * (sum(map(log_determinant, blocks)) - log_determinant(whole))


class BinnedReading(Reading):
    """The sum over pairs of members of I(u_i; v_j), u and v their first principal components, by a histogram.

    By the data-processing inequality a lower bound of I(a_i; b_j); the histogram's own bias (Miller 1955) is taken off.
    """

    def __init__(self, pairs: Pairs, layout: Layout, features: Mapping[str, Shape]) -> None:
        sizes = [pairs.size(name, layout, features) for name in (pairs.left, pairs.right)]
        self.index = pairs.index(sizes[0][0], sizes[1][0])
        self.columns, self.shapes, place = [], [], 0
        for members, width in sizes:
            step = -(-width // NUMBERS)
            kept = range(0, width, step)
            self.columns += [place + m * width + k for m in range(members) for k in kept]
            self.shapes.append((members, len(kept)))
            place += members * width

    def value(self, rows: Tensor) -> float | None:
        n = len(rows)
        if n < 4 * BINS:
            return None
        parts = rows.float().split([members * width for members, width in self.shapes], 1)
        left, right = (_bins(p.unflatten(1, shape)) for p, shape in zip(parts, self.shapes, strict=True))
        counts = torch.einsum("nib,njc->ijbc", left, right)[self.index[:, 0], self.index[:, 1]]  # (P, BINS, BINS)
        a, b = counts.sum(2, keepdim=True), counts.sum(1, keepdim=True)
        information = (counts / n * (counts * n / (a * b)).clamp_min(1e-12).log()).nan_to_num().sum((1, 2))
        used = [(c > 0).sum((1, 2)) for c in (counts, a, b)]
        bias = (used[0] - used[1] - used[2] + 1) / (2 * n)
        return max(0.0, float((information - bias).sum()))


def _bins(members: Tensor) -> Tensor:
    """One-hot bins of each member's first principal component: (n, members, numbers) -> (n, members, BINS)."""
    x = members - members.mean(0)
    x = x / x.square().mean(0).sqrt().clamp_min(1e-6)
    _, vectors = torch.linalg.eigh(torch.einsum("nmk,nml->mkl", x, x))
    u = torch.einsum("nmk,mk->nm", x, vectors[..., -1])
    u = u / u.square().mean(0).sqrt().clamp_min(1e-6)
    number = (2 * u + BINS / 2).floor().clamp(0, BINS - 1).long()
    return torch.nn.functional.one_hot(number, BINS).to(x.dtype)


def independent_reading(
    compared: Partition | Pairs | Items, layout: Layout, features: Mapping[str, Shape]
) -> Reading | None:
    """The reading beside a critic's; None of items, which have none."""
    if isinstance(compared, Items):
        return None
    return (
        BinnedReading(compared, layout, features) if isinstance(compared, Pairs) else GaussianReading(compared, layout)
    )


def blind_critics(events: list[dict[str, Any]]) -> list[str]:
    """One line for each critic that read less than a fifth of the independent value at a tenth of a run's events."""
    lines: list[str] = []
    names = {key.removeprefix("independent/") for event in events for key in event if key.startswith("independent/")}
    for name in sorted(names):
        read = [(e.get(f"reading/{name}"), e.get(f"independent/{name}")) for e in events]
        known = [(own, other) for own, other in read if own is not None and other is not None]
        blind = [(own, other) for own, other in known if other > NEGLIGIBLE and own < SHARE * other]
        if blind and 10 * len(blind) >= len(known):
            own, other = sorted(blind, key=lambda pair: pair[1])[len(blind) // 2]
            lines.append(
                f"the critic of {name} was blind at {len(blind)} of {len(known)} events: it read {own:.2g} nats "
                f"where an independent estimate has {other:.2g}; raise critic_optimizer.lr or critic_updates"
            )
    return lines
