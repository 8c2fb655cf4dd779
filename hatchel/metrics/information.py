"""Entropy and mutual information by counting, in nats, and the equal-width bins in front of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.inputs import Float, Labels

BLOCK = 2**17
"""Numbers looked at at a time: they stay in a processor's cache, and a million rows take no more than ten thousand."""


def blocks(n: int, width: int = 1) -> Iterator[slice]:
    """The rows, of `width` numbers each, in runs of at most BLOCK numbers."""
    step = max(1, BLOCK // width)
    return (slice(start, start + step) for start in range(0, n, step))


def discretise(values: Float, bins: int = 20, kind: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
    """Bin number 0..bins-1 of every value: equal-width bins between each column's minimum and maximum.

    The same as `np.digitize(x, np.histogram(x, bins)[1][:-1]) - 1`, the field's reference. A constant column is all
    bin 0: numpy would widen the range and put it in the middle, with the same information (none).

    >>> discretise(np.array([[0.0], [0.4], [0.5], [1.0]]), bins=2).ravel()
    array([0, 0, 1, 1])
    """
    low, high = values.min(axis=0), values.max(axis=0)
    result = np.zeros(values.shape[::-1], dtype=kind)  # (D, n): everything below runs along one dimension's values
    for d in np.flatnonzero(low < high):
        edges = np.linspace(low[d], high[d], bins + 1)
        upper = np.append(edges[1:-1], np.inf)
        for rows in blocks(len(values)):
            column = np.ascontiguousarray(values[rows, d])
            guess = ((column - low[d]) * (bins / (high[d] - low[d]))).astype(np.int64)
            np.minimum(guess, bins - 1, out=guess)
            # The product rounds otherwise than the edges do: a value next to an edge may be one bin off.
            guess -= column < edges[guess]
            guess += column >= upper[guess]
            result[d, rows] = guess
    return result.T


def relabel(values: NDArray[Any]) -> tuple[Labels, int]:
    """Class numbers 0..m-1 in sorted order of one column's values, and m.

    >>> relabel(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    if np.issubdtype(values.dtype, np.integer):
        low, high = int(values.min()), int(values.max())
        if high - low < max(1024, 4 * len(values)):  # a lookup table: ten times faster than sorting
            shifted = values.astype(np.int64)  # the largest unsigned ones wrap around, and back again
            shifted -= shifted[values.argmin()]
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            return (np.cumsum(present) - 1)[shifted], int(present.sum())
    known, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64).reshape(-1), len(known)


def entropy(counts: NDArray[Any]) -> Float:
    """H = -sum p log p of (unnormalised) counts along the last axis.

    >>> entropy(np.array([5, 5])).round(6)
    np.float64(0.693147)
    """
    total = np.maximum(counts.sum(axis=-1), 1)
    largest = int(np.max(total))
    logs = _count_log(largest)[counts] if largest <= BLOCK else counts * np.log(np.maximum(counts, 1.0))
    return np.maximum(np.log(total) - logs.sum(axis=-1) / total, 0.0)


@functools.lru_cache(maxsize=4)
def _count_log(largest: int) -> Float:
    """c log c for c = 0..largest: a lookup is much cheaper than a logarithm per cell."""
    counts = np.arange(largest + 1, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


def entropies(labels: NDArray[Any]) -> Float:
    """(n, K) -> (K,): H of every column of class numbers."""
    return np.array([entropy(np.bincount(labels[:, k])) for k in range(labels.shape[1])])


def contingency(left: NDArray[Any], right: Labels) -> Labels:
    """How often each pair of values occurs, for every column of `left` with one column of `right`.

    (n, D), (n,) -> (D, values of left, values of right)
    """
    dims, rows, columns = left.shape[1], int(left.max()) + 1, int(right.max()) + 1
    result = np.zeros((dims, rows * columns), dtype=np.int64)
    for some in blocks(dims, len(left)):
        for part in blocks(len(left)):
            cells = left.T[some, part].astype(np.int64)
            cells *= columns
            cells += right[part]
            cells += np.arange(len(cells))[:, None] * (rows * columns)
            counted = np.bincount(cells.reshape(-1), minlength=len(cells) * rows * columns)
            result[some] += counted.reshape(len(cells), -1)
    return result.reshape(dims, rows, columns)


def mutual_information(left: NDArray[Any], right: Labels) -> Float:
    """(n, D), (n, K) -> (D, K): I(a_d; b_k) = H(a_d) + H(b_k) - H(a_d, b_k) of the counts, in nats.

    >>> same = np.array([[0], [0], [1], [1]]); mutual_information(same, same).round(6)
    array([[0.693147]])
    """
    result = np.empty((left.shape[1], right.shape[1]))
    for k in range(right.shape[1]):
        joint = contingency(left, right[:, k])
        both = entropy(joint.reshape(len(joint), -1))
        result[:, k] = entropy(joint.sum(axis=2)) + entropy(joint.sum(axis=1)) - both
    # Rounding leaves +-1e-16 where the truth is 0; an information is never negative.
    return np.where(result < 1e-14, 0.0, result)


def variances(values: Float) -> Float:
    """(n, D) -> (D,): the mean square around the mean, as `values.var(axis=0)` without its copies.

    >>> variances(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 0.0]
    """
    mean = values.mean(axis=0)
    return mean_squares(values, mean)


def mean_squares(values: Float, around: Float | float = 0.0) -> Float:
    """(n, D) -> (D,): the mean of (values - around)²."""
    total = np.zeros(values.shape[1])
    for rows in blocks(*values.shape):
        part = values[rows] - around
        part *= part
        total += part.sum(axis=0)
    return total / len(values)


def covariance(values: Float) -> Float:
    """(n, D) -> (D, D): sum of (x - mean) (x - mean)^T / (n - 1), as `np.cov` without its copies; 0 of one row.

    >>> covariance(np.array([[1.0, 5.0], [3.0, 7.0]])).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    mean, total = values.mean(axis=0), np.zeros((values.shape[1], values.shape[1]))
    for rows in blocks(*values.shape):
        part = values[rows] - mean
        total += part.T @ part
    return total / max(1, len(values) - 1)


def gap(values: Float) -> Float:
    """(R, C) -> (C,): the largest minus the second largest of every column; with one row the rival counts as 0.

    >>> gap(np.array([[3.0, 0.5], [1.0, 0.5]]))
    array([2., 0.])
    """
    ordered = np.sort(np.vstack([values, np.zeros((1, values.shape[1]))]) if len(values) == 1 else values, axis=0)
    return ordered[-1] - ordered[-2]


def concentration(importance: Float) -> Float:
    """(R, C) -> (R,): 1 - H_C(P_r), where P_r is row r divided by its sum; 0 for a row without any importance.

    Eastwood & Williams (2018, Sec. 2) call it the disentanglement of a row, the completeness of a column.

    >>> concentration(np.array([[0.0, 3.0], [2.0, 2.0], [0.0, 0.0]])).round(6).tolist()
    [1.0, 0.0, 0.0]
    """
    if importance.shape[1] == 1:
        return (importance[:, 0] > 0).astype(np.float64)
    total = importance.sum(axis=1, keepdims=True)
    shares = importance / np.where(total > 0, total, 1.0)
    spread = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return np.where(total[:, 0] > 0, 1 - spread / np.log(importance.shape[1]), 0.0)


def weighted_concentration(importance: Float) -> float:
    """sum_r rho_r (1 - H_C(P_r)) with rho the rows' shares of all importance; 0 where there is none.

    DCI's D of a D x K matrix; DCI's C of the transposed one.
    """
    total = importance.sum()
    return float(concentration(importance) @ importance.sum(axis=1) / total) if total > 0 else 0.0


def normalised_information(labels: NDArray[Any]) -> tuple[Float, Float]:
    """(n, D) -> I(a_i; a_j) / sqrt(H(a_i) H(a_j)), 0 where an entropy is 0, and I(a_i; a_j): (D, D) each."""
    dims = labels.shape[1]
    shared = np.empty((dims, dims))
    for d in range(dims):  # each pair once
        shared[d, d:] = shared[d:, d] = mutual_information(labels[:, d:], labels[:, d : d + 1])[:, 0]
    scale = np.sqrt(np.outer(np.diag(shared), np.diag(shared)))
    return np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0), shared


def squared_correlations(codes: Float, values: Float) -> Float:
    """(n, D), (n,) -> (D,): R² of the straight line from each dimension to the values; 0 where nothing varies.

    >>> squared_correlations(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([5.0, 3.0, 1.0]))
    array([1., 0.])
    """
    centred, target = codes - codes.mean(axis=0), values - values.mean()
    scale = (centred**2).sum(axis=0) * (target**2).sum()
    return np.divide((centred.T @ target) ** 2, scale, out=np.zeros(codes.shape[1]), where=scale > 0)


def prior_divergence(mean: Float, std: Float) -> Float:
    """(n, D) each -> (D,): the mean over rows of KL(N(mean, std²) || N(0, 1)), in nats."""
    return 0.5 * (mean**2 + std**2 - 1 - 2 * np.log(std)).mean(axis=0)


def standardised(codes: Float, by: Float | None = None) -> Float:
    """Codes (n, D) with the means and deviations of `by` (their own by default) at 0 and 1; a constant stays at 0."""
    rows = codes if by is None else by
    spread = rows.std(axis=0)
    return (codes - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
