"""Gradient-boosted trees for classification, all classes of all factors at once.

They follow scikit-learn's GradientBoostingClassifier: Friedman's multinomial deviance (Friedman 2001, Algorithm 6; the
binomial one for two classes), regression trees by squared error, one Newton step per leaf, importances by the decrease
of the squared error. Every tree of a round reads the same codes, so that one product sums the gradients of all of them
over the bins of all dimensions.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.solvers.splits import PACK, Cuts, Histogram, Index, Real

Bool = NDArray[np.bool_]
COLUMNS = 48
"""Trees grown side by side: few enough for their gradients to stay in a processor's cache."""
LANES = 8
"""Cells per leaf that neighbouring rows are added to in turn: adding to one cell, each would wait for the last."""


@dataclass(frozen=True)
class Boosted:
    """The trees of one factor: C classes, one tree per class and round (two classes share one)."""

    classes: NDArray[Any]  # (C,)
    importances: NDArray[np.float64]  # (D,), sum 1 (or all 0 if no tree has a split)
    start: NDArray[np.float64]  # (T,) log prior, T trees per round
    features: Index  # (rounds, 2^depth - 1, T)
    thresholds: NDArray[np.float32]  # (rounds, 2^depth - 1, T); infinite: no split
    leaves: Real  # (rounds, 2^depth, T)
    fitted: NDArray[Any]  # (N,) the classes given to the training rows

    def decision(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Log-odds of each class up to a constant (n, C), or of the second class (n, 1) if there are two."""
        columns = np.ascontiguousarray(codes.T, dtype=np.float32)  # (D, n)
        depth = self.leaves.shape[1].bit_length() - 1
        raw = np.repeat(self.start[:, None].astype(self.leaves.dtype), len(codes), axis=1)  # (T, n)
        for features, thresholds, leaves in zip(self.features, self.thresholds, self.leaves, strict=True):
            path: list[Bool] = []
            for level in range(depth):
                nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
                path.append(_goes_right(columns, features[nodes], thresholds[nodes], path))
            raw += _leaf_values(leaves, _leaf_numbers(path))
        return raw.T.astype(np.float64)

    def predict(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The likeliest class of every row of codes (n, D)."""
        return _chosen(self.classes, self.decision(codes).T)


def boost(
    codes: NDArray[Any],
    labels: Sequence[NDArray[Any]],
    rng: np.random.Generator,
    *,
    rounds: int = 100,
    rate: float = 0.1,
    depth: int = 3,
    bins: int = 64,
    precision: type[np.floating[Any]] = np.float32,
) -> list[Boosted]:
    """Boosted trees that tell each of `labels` (N,) from codes (N, D); `rng` only settles ties between dimensions.

    >>> x = np.arange(40.0)[:, None]
    >>> trees = boost(x, [x[:, 0] // 10], np.random.default_rng(0), rounds=20)[0]
    >>> trees.predict(np.array([[3.0], [35.0]])), trees.importances
    (array([0., 3.]), array([1.]))
    """
    grid = Histogram(np.asarray(codes, dtype=np.float32), bins, precision)
    groups = list(_groups([np.unique(y, return_inverse=True) for y in labels]))
    growths = [_Growth(grid, group, depth, own) for group, own in zip(groups, rng.spawn(len(groups)), strict=True)]
    with single_threaded() as threads, ThreadPoolExecutor(threads) as pool:
        return [forest for forests in pool.map(lambda growth: growth.run(rounds, rate), growths) for forest in forests]


@contextmanager
def single_threaded() -> Generator[int]:
    """How many threads torch may use, for whole groups of trees: inside one product they would mostly wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


def _groups(factors: list[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    for factor in factors:
        if group and sum(len(classes) for classes, _ in (*group, factor)) > COLUMNS:
            yield group
            group = []
        group.append(factor)
    yield group


class _Growth:
    """Boosting of some factors, T trees per round; arrays are (nodes J, T, ...) and rows come last, padded by one."""

    def __init__(self, grid: Histogram, factors: list[Any], depth: int, rng: np.random.Generator) -> None:
        self.grid, self.factors, self.depth, self.rng = grid, factors, depth, rng
        n, kind = grid.rows, grid.precision
        targets = [y == np.arange(len(c))[-1 if len(c) == 2 else 0 :, None] for c, y in factors]
        stops = np.cumsum([len(t) for t in targets])
        self.spans = [slice(int(b) - len(t), int(b)) for b, t in zip(stops, targets, strict=True)]
        self.trees = np.arange(stops[-1])
        self.target = np.concatenate(targets).astype(kind)  # (T, N)
        prior = self.target.mean(axis=1, dtype=np.float64)
        self.step = np.ones(len(prior))
        for span in self.spans:
            classes = span.stop - span.start
            if classes == 1:
                prior[span] /= np.maximum(1 - prior[span], np.finfo(np.float64).eps)  # one class only: certain
            else:
                self.step[span] = (classes - 1) / classes  # scikit-learn keeps Friedman's factor (K - 1) / K
        self.start = np.log(prior)
        self.raw = np.repeat(self.start[:, None].astype(kind), n, axis=1)
        self.gradient = np.zeros((len(prior), n + 1), dtype=kind)
        self.node = np.full((len(prior), n + 1), 255, dtype=np.uint8)  # row N is in no node
        self.columns = np.empty((n, len(prior)), dtype=kind)
        shape = (2, grid.bins, grid.dims, len(prior))
        self.prefix = [np.empty((2**level, *shape), dtype=kind) for level in range(depth)]  # [node, (sum, count), ...]
        self.prefix[0][0, 1] = grid.counts[:, :, None]
        self.lanes = (np.arange(n) % LANES * 2**depth).astype(np.uint8)

    def run(self, rounds: int, rate: float) -> list[Boosted]:
        depth, trees = self.depth, len(self.trees)
        features = np.empty((rounds, 2**depth - 1, trees), dtype=np.int64)
        thresholds = np.empty(features.shape, dtype=np.float32)
        leaves = np.empty((rounds, 2**depth, trees), dtype=self.grid.precision)
        gains = np.zeros((trees, self.grid.dims))
        for r in range(rounds):
            probability = self._probabilities()
            np.subtract(self.target, probability, out=self.gradient[:, :-1])
            leaf = self._grow(features[r], thresholds[r], gains)
            leaves[r] = self._newton(leaf, probability) * rate
            self._add(leaves[r], leaf)
        return [
            Boosted(
                classes, _share(gains[s].sum(axis=0)), self.start[s], features[..., s], thresholds[..., s],
                leaves[..., s], _chosen(classes, self.raw[s]),
            )
            for (classes, _), s in zip(self.factors, self.spans, strict=True)
        ]  # fmt: skip

    def _probabilities(self) -> Real:
        """p(class | row) (T, N), by softmax or, for one tree, by the logistic function."""
        probability = np.empty_like(self.raw)
        for span in self.spans:
            raw, out = self.raw[span], probability[span]
            if len(raw) == 1:
                with np.errstate(over="ignore"):
                    np.divide(1, 1 + np.exp(-raw), out=out)
            else:
                np.exp(raw - raw.max(axis=0), out=out)
                out /= out.sum(axis=0)
        return probability

    def _add(self, leaves: Real, leaf: Index) -> None:
        import torch

        values = torch.from_numpy(np.tile(leaves, (LANES, 1)).T.copy())  # (T, lanes * leaves)
        torch.from_numpy(self.raw).add_(values.gather(1, torch.from_numpy(leaf)))

    def _newton(self, leaf: Index, probability: Real) -> NDArray[np.float64]:
        """sum g / sum p (1 - p) of every leaf (2^depth, T), 0 where nothing is left to improve."""
        curvature = probability * (1 - probability)
        lost = probability < 2.0**-53
        if lost.any():  # scikit-learn has y - (y - p) = 0 there, and must not be outdone by dividing by p
            curvature[lost & (self.target > 0)] = 0
        first, second = (self._by_leaf(leaf, rows) for rows in (self.gradient[:, :-1], curvature))
        safe = second > np.finfo(self.grid.precision).tiny
        return np.where(safe, first / np.where(safe, second, 1), 0) * self.step

    def _by_leaf(self, leaf: Index, rows: Real) -> NDArray[np.float64]:
        """(2^depth, T): rows (T, N) summed over each leaf."""
        import torch  # slow to import

        # A fourth of the time of a bincount for each tree.
        values = torch.from_numpy(rows)
        cells = values.new_zeros(len(rows), LANES * 2**self.depth).scatter_add_(1, torch.from_numpy(leaf), values)
        return cells.view(len(rows), LANES, -1).sum(1, dtype=torch.float64).T.numpy()

    def _grow(self, features: Index, thresholds: Real, gains: NDArray[np.float64]) -> Index:
        """One tree per column, level by level; the leaf of every row (T, N), with its lane."""
        grid, n = self.grid, self.grid.rows
        by_row = np.ascontiguousarray(self.gradient[:, :-1].T)  # (N, T)
        node = self.node[:, :-1]
        node[:] = 0
        path: list[Bool] = []
        splits: list[tuple[Index, Index]] = []
        total, count = np.empty(0), np.empty(0)
        for level in range(self.depth):
            prefix = self._prefixes(level, by_row)
            if level == 0:
                total, count = prefix[:, 0, -1, 0], prefix[:, 1, -1, 0]  # (J, T)
            cuts = Cuts(grid, prefix, total, count, self.rng)
            cuts.refine(self.gradient, self.node, splits)
            feature, valid = cuts.feature, cuts.valid()
            np.add.at(gains, (self.trees, feature), cuts.gain())
            cut = np.where(valid, cuts.cut, n - 1)
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            features[nodes], thresholds[nodes] = feature, np.where(valid, cuts.threshold(), np.inf)
            path.append(_goes_right(grid.ranks, feature, cut.astype(grid.ranks.dtype), path))
            node <<= 1
            node |= path[-1].view(np.uint8)
            splits.append((feature, cut))
            left = np.where(valid, cuts.total_left, total), np.where(valid, cuts.count_left, count)
            total, count = (_interleave(a, b - a) for a, b in zip(left, (total, count), strict=True))
        return (node | self.lanes).astype(np.int64)

    def _prefixes(self, level: int, by_row: Real) -> Real:
        """Prefix sums of gradients and counts for every node: the left children's are summed, the right's follow."""
        grid, prefix = self.grid, self.prefix[level]
        if level == 0:
            grid.sums(by_row, prefix[0, 0])
            return prefix
        node = np.ascontiguousarray(self.node[:, :-1].T)  # (N, T)
        waiting, lefts = -1, range(0, 2**level, 2)
        for j in lefts:
            mask = (node == j).astype(grid.precision)
            grid.sums(np.multiply(by_row, mask, out=self.columns), prefix[j, 0])
            if waiting >= 0:
                mask *= PACK
                mask += self.packed
                grid.pair_counts(mask, (prefix[waiting, 1], prefix[j, 1]))
                waiting = -1
            elif grid.packs and j + 2 in lefts:
                self.packed, waiting = mask, j
            else:
                grid.sums(mask, prefix[j, 1])
        np.subtract(self.prefix[level - 1], prefix[0::2], out=prefix[1::2])
        return prefix


def _goes_right(columns: NDArray[Any], feature: Index, cut: NDArray[Any], path: Sequence[Bool]) -> Bool:
    """Whether each row (T, n) goes right at its node, where `path` says how it came there."""
    sides = [columns[f] > c[:, None] for f, c in zip(feature, cut, strict=True)]
    for turn in reversed(path):  # pairs of sister nodes: keep the answer of the one the row is in
        for left, right in zip(sides[::2], sides[1::2], strict=True):
            right ^= left
            right &= turn
            left ^= right
        sides = sides[::2]
    return sides[0]


def _leaf_numbers(path: Sequence[Bool]) -> NDArray[np.uint8]:
    number = path[0].view(np.uint8).copy()
    for turn in path[1:]:
        number <<= 1
        number |= turn.view(np.uint8)
    return number


def _leaf_values(leaves: Real, number: NDArray[np.uint8]) -> Real:
    return np.stack([values.take(row) for values, row in zip(np.ascontiguousarray(leaves.T), number, strict=True)])


def _interleave(left: Real, right: Real) -> Real:
    return np.stack([left, right], axis=1).reshape(2 * len(left), -1)


def _chosen(classes: NDArray[Any], raw: Real) -> NDArray[Any]:
    return classes[raw.argmax(axis=0) if len(raw) > 1 else np.minimum(raw[0] > 0, len(classes) - 1)]


def _share(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    return gains / gains.sum() if gains.sum() > 0 else gains
