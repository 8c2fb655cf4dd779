"""Cuts: where each node of many regression trees is best split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.solvers.histogram import Histogram, Index, Real


class Cuts:
    """The best cut of J nodes in each of T trees: first among the bins of all dimensions, then row by row around it.

    Of n rows with gradient sum S, a cut that puts n_L rows with sum S_L to the left lowers the squared error by
    (n S_L - n_L S)² / (n n_L (n - n_L)), which orders cuts as Friedman's criterion does (2001, Eq. 35); `score` is n
    times that. Equal scores of several dimensions (one row set apart from the rest, say) are settled at random, as in
    scikit-learn: the first dimension would win too often.
    """

    def __init__(self, grid: Histogram, prefix: Real, total: Real, count: Real, rng: np.random.Generator) -> None:
        self.grid, self.total, self.count, self.rng = grid, total, count, rng  # (J, T)
        sums, counts = prefix[:, 0], prefix[:, 1]  # (J, B, D, T)
        n = count[:, None, None]
        score, size = sums * n, counts * total[:, None, None]
        score -= size
        score *= score
        np.subtract(n, counts, out=size)
        size *= counts
        score /= np.maximum(size, 1, out=size)
        feature = self._jittered(score.max(axis=1)).argmax(axis=1)  # (J, T)
        self.node, self.tree = node, tree = np.arange(count.shape[0])[:, None], np.arange(count.shape[1])
        here, beside = score[node, :, feature, tree], counts[node, :, feature, tree]  # (J, T, B)
        best = here.argmax(axis=-1)
        self.feature = feature
        self.score = here[node, tree, best]
        self.count_left = beside[node, tree, best]
        self.total_left = sums[node, best, feature, tree]
        # Bins that are empty in this node, on either side of the cut, give the same split: it lies in their middle.
        before = (beside < self.count_left[..., None]).sum(axis=-1)
        after = np.minimum((beside <= self.count_left[..., None]).sum(axis=-1), grid.bins - 1)
        self.low = grid.starts[feature, before + 1] - 1
        self.high = np.minimum(grid.starts[feature, after], grid.rows - 1)
        self.cut = self.low

    def valid(self) -> NDArray[np.bool_]:
        """Whether rows fall on both sides."""
        return (self.count_left > 0) & (self.count_left < self.count)

    def gain(self) -> NDArray[np.float64]:
        """By how much the sum of squared errors falls."""
        return np.where(self.valid(), self.score / np.maximum(self.count, 1), 0).astype(np.float64)

    def threshold(self) -> NDArray[np.float32]:
        """Half-way between the node's neighbouring values, rounded so that the upper one stays above."""
        low, high = self.grid.values[self.feature, self.low], self.grid.values[self.feature, self.high]
        middle = (low + high) / np.float32(2)
        return np.where(middle < high, middle, low)

    def refine(self, gradient: Real, member: NDArray[np.uint8], above: Sequence[tuple[Index, Index]]) -> None:
        """Try every cut within reach of the best one, and of the cuts (feature, position) of the levels above.

        The latter are this node's own ends, where a few rows can be set apart. `gradient` and `member` (the node of
        each row) are (T, N + 1), with an entry for no row at all.
        """
        grid, level, nodes = self.grid, len(above), self.node[:, 0]
        if not grid.reach:
            return
        ends = [(f[nodes >> (level - m)], c[nodes >> (level - m)]) for m, (f, c) in enumerate(above)]
        right = [(nodes >> (level - 1 - m)) & 1 for m in range(level)]
        feature = np.stack([self.feature, self.feature, *(f for f, _ in ends)], axis=-1)  # (J, T, V)
        origin = np.stack([self.high - 1, self.low, *(c for _, c in ends)], axis=-1)
        ways = np.stack([np.ones_like(nodes), -np.ones_like(nodes), *(2 * r - 1 for r in right)], axis=1)
        ways = ways[:, None, :, None]  # (J, 1, V, 1): +1 moves row after row to the left side, -1 to the right side
        deviation = self.total_left * self.count - self.count_left * self.total
        none = np.zeros_like(deviation)
        at_start = np.stack([deviation, deviation, *(none for _ in ends)], axis=-1)[..., None]
        lefts = [np.where(r[:, None] == 1, none, self.count) for r in right]
        left = np.stack([self.count_left, self.count_left, *lefts], axis=-1)[..., None]

        cuts = (origin + feature * grid.stride + grid.offset)[..., None] + ways * np.arange(1, grid.reach + 1)
        rows = grid.order.take(cuts + (ways < 0))  # (J, T, V, W)
        rows += (self.tree * (grid.rows + 1))[:, None, None]
        inside = member.take(rows) == nodes[:, None, None, None].astype(np.uint8)
        n, sign = self.count[..., None, None], ways.astype(grid.precision)
        step = gradient.take(rows)
        step *= n
        step -= self.total[..., None, None]
        step *= inside
        deviations = np.cumsum(step, axis=-1, out=step)
        deviations *= sign
        deviations += at_start
        moved = np.cumsum(inside, axis=-1, dtype=grid.precision)
        lefts = moved * sign
        lefts += left
        size = n - lefts
        size *= lefts
        score = deviations * deviations
        score /= np.maximum(size, 1, out=size)
        score *= grid.cuttable.take(cuts)
        self._adopt(score, deviations, lefts, moved, cuts, feature, ways[:, 0, :, 0])

    def _adopt(
        self, score: Real, deviations: Real, lefts: Real, moved: Real, cuts: Index, feature: Index, ways: Index
    ) -> None:
        grid, node, tree = self.grid, self.node, self.tree
        window = self._jittered(score.max(axis=-1)).argmax(axis=-1)  # (J, T)
        step = score[node, tree, window].argmax(axis=-1)
        at = (node, tree, window, step)
        better = self._jittered(score[at]) > self._jittered(self.score)
        chosen, up = feature[node, tree, window], ways[node, window] > 0
        cut = cuts[at] - chosen * grid.stride - grid.offset
        # The node's next row beyond the cut bounds the gap in whose middle the threshold lies.
        beyond = (moved[node, tree, window] <= moved[at][..., None]).sum(axis=-1)
        gap = np.maximum(np.minimum(beyond, grid.reach - 1) - step, 1)
        n_left = lefts[at]
        found: dict[str, NDArray[Any]] = {
            "feature": chosen,
            "score": score[at],
            "count_left": n_left,
            "total_left": (deviations[at] + n_left * self.total) / np.maximum(self.count, 1),
            "cut": cut,
            "low": np.where(up, cut, np.maximum(cut + 1 - gap, 0)),
            "high": np.minimum(np.where(up, cut + gap, cut + 1), grid.rows - 1),
        }
        for name, value in found.items():
            setattr(self, name, np.where(better, value, getattr(self, name)))

    def _jittered(self, score: Real) -> Real:
        spread = 64 * np.finfo(self.grid.precision).eps
        return score * (1 + spread * self.rng.random(score.shape, dtype=self.grid.precision))
