"""Splits of many regression trees at once: running sums at bins that all trees share, and each node's best cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.floating[Any]]
Index = NDArray[np.int64]

PACK = 4096.0
"""Two counts below this share one float32 exactly (4096² = 2²⁴)."""

REACH = 64
"""Rows tried again on either side of a cut at most: twice as many changed no DCI by more than 0.005."""


class Histogram:
    """Codes (N, D) in sorted order, cut into bins, with prefix sums of any (N, C) columns at the bins' ends.

    A dimension of at most `bins` distinct values gets one bin per value, and the sums are those of an exact search. Any
    other gets `bins` equal shares of the rows, cut further towards both ends: the gain of a split that sets a few
    rows apart changes with every single row, and such splits win most nodes of a forest that has begun to overfit.
    """

    def __init__(self, codes: NDArray[np.float32], bins: int, precision: type[np.floating[Any]]) -> None:
        self.rows, self.dims = rows, dims = codes.shape
        self.precision = precision
        order = np.argsort(codes, axis=0, kind="stable").T  # (D, N)
        self.values = np.take_along_axis(codes.T, order, axis=1)  # (D, N)
        last = np.ones((dims, rows), dtype=np.bool_)
        last[:, :-1] = self.values[:, 1:] != self.values[:, :-1]  # the last of equal values: a cut may follow
        ends = np.minimum.accumulate(np.where(last, np.arange(rows), rows)[:, ::-1], axis=1)[:, ::-1]
        self.ranks = np.empty((dims, rows), dtype=np.uint16 if rows < 2**16 else np.int64)
        np.put_along_axis(self.ranks, order, ends.astype(self.ranks.dtype), axis=1)

        starts = [_starts(np.flatnonzero(np.r_[True, change[:-1]]), rows, bins) for change in last]
        self.bins = max(len(s) for s in starts)
        self.starts = np.full((dims, self.bins + 1), rows)  # (D, B + 1); bins beyond a dimension's own are empty
        for d, s in enumerate(starts):
            self.starts[d, : len(s)] = s
        sizes = np.diff(self.starts, axis=1)  # (D, B)
        first, final = np.minimum(self.starts[:, :-1], rows - 1), np.maximum(self.starts[:, 1:] - 1, 0)
        across = np.arange(dims)[:, None]
        mixed = self.values[across, first] != self.values[across, final]
        self.reach = min(REACH, int(np.where(mixed, sizes, 0).max()))
        """Rows to search again on either side of a cut; 0 where the bins already are the distinct values."""
        side = self.reach + 1  # room for a search that runs over the end; row N there stands for none
        self.stride = rows + 2 * side
        self.order = np.pad(order, ((0, 0), (side, side)), constant_values=rows).ravel()
        # 0 or 1 in the precision of what it is multiplied with, which is twice as fast as a truth value.
        self.cuttable = np.pad(last & (np.arange(rows) < rows - 1), ((0, 0), (side, side))).ravel().astype(precision)
        self.offset = side

        self.counts = np.cumsum(sizes.T, axis=0).astype(precision)  # (B, D)
        self.packs = bool(sizes.max() < PACK)
        bag = np.repeat(
            np.tile(np.arange(self.bins), dims) * dims + np.repeat(np.arange(dims), self.bins), sizes.ravel()
        )
        self._members = order.ravel()[np.lexsort((order.ravel(), bag))].astype(np.int32)  # rows of bag (bin, dimension)
        self._bags = np.r_[0, np.cumsum(sizes.T.ravel())[:-1]].astype(np.int32)

    def sums(self, columns: Real, out: Real) -> None:
        """Into `out` (B, D, C): columns (N, C) summed over the rows up to the end of each bin."""
        self._at_ends(self._bag_sums(columns), out)

    def pair_counts(self, packed: Real, out: tuple[Real, Real]) -> None:
        """The same for two masks at once, given as first + PACK * second."""
        both = self._bag_sums(packed)
        second = (both * (1 / PACK)).floor_()
        self._at_ends(both.sub_(second, alpha=PACK), out[0])
        self._at_ends(second, out[1])

    def _bag_sums(self, columns: Real) -> Any:
        import torch  # slow to import

        # A bag of embeddings is a product with a 0/1 sparse matrix, and the fastest one there is on a processor.
        members, bags = torch.from_numpy(self._members), torch.from_numpy(self._bags)
        return torch.embedding_bag(torch.from_numpy(columns), members, bags)[0]

    def _at_ends(self, sums: Any, out: Real) -> None:
        _running(sums.view(self.bins, -1).numpy(), 0, out.reshape(self.bins, -1))


def _running(values: Real, axis: int, out: Real) -> Real:
    import torch

    # A fifth of the time of numpy's.
    return torch.cumsum(torch.from_numpy(values), axis, out=torch.from_numpy(out)).numpy()


def _starts(distinct: Index, rows: int, bins: int) -> Index:
    """First sorted position of every bin, given the first position of every distinct value."""
    if len(distinct) <= bins:
        return distinct
    share = rows // bins
    tail = [1]
    while tail[-1] < share:
        tail.append(max(tail[-1] + 1, round(tail[-1] * 1.4)))
    ends = np.array([t for t in tail if t < share], dtype=np.int64)
    wanted = np.unique(np.r_[np.arange(bins) * rows // bins, ends, rows - ends])
    value = np.searchsorted(distinct, wanted, side="right") - 1
    heavy = value[np.diff(np.r_[distinct, rows])[value] > share]  # a value that fills a bin gets one of its own
    return distinct[np.unique(np.r_[value, np.minimum(heavy + 1, len(distinct) - 1)])]


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
        inside = (member.take(rows) == nodes[:, None, None, None].astype(np.uint8)).astype(grid.precision)
        n, sign = self.count[..., None, None], ways.astype(grid.precision)
        step = gradient.take(rows)
        step *= n
        step -= self.total[..., None, None]
        step *= inside
        deviations = _running(step, -1, step)
        deviations *= sign
        deviations += at_start
        moved = _running(inside, -1, inside)
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
        steps = score.argmax(axis=-1)  # (J, T, V): a fifth of the time of the largest value itself
        largest = np.take_along_axis(score, steps[..., None], axis=-1)[..., 0]
        window = self._jittered(largest).argmax(axis=-1)  # (J, T)
        step = steps[node, tree, window]
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
