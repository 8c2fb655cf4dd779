"""Histogram: running sums of many columns along every code dimension, at bins shared by all trees."""

from __future__ import annotations

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
        self.cuttable = np.pad(last & (np.arange(rows) < rows - 1), ((0, 0), (side, side))).ravel()
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
        self._running(self._bag_sums(columns), out)

    def pair_counts(self, packed: Real, out: tuple[Real, Real]) -> None:
        """The same for two masks at once, given as first + PACK * second."""
        both = self._bag_sums(packed)
        second = (both * (1 / PACK)).floor_()
        self._running(both.sub_(second, alpha=PACK), out[0])
        self._running(second, out[1])

    def _bag_sums(self, columns: Real) -> Any:
        import torch  # slow to import

        # A bag of embeddings is a product with a 0/1 sparse matrix, and the fastest one there is on a processor.
        members, bags = torch.from_numpy(self._members), torch.from_numpy(self._bags)
        return torch.embedding_bag(torch.from_numpy(columns), members, bags)[0]

    def _running(self, sums: Any, out: Real) -> None:
        import torch

        torch.cumsum(sums.view(self.bins, -1), dim=0, out=torch.from_numpy(out).view(self.bins, -1))


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
