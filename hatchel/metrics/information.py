"""Entropy and mutual information by counting, in nats, and the equal-width bins in front of them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.inputs import Labels, Matrix

Float = NDArray[np.float64]


def discretise(values: Matrix, bins: int = 20) -> Labels:
    """Bin number 0..bins-1 of every value: equal-width bins between each column's minimum and maximum.

    The same as `np.digitize(x, np.histogram(x, bins)[1][:-1]) - 1`, the field's reference. A constant column is all
    bin 0: numpy would widen the range and put it in the middle, with the same information (none).

    >>> discretise(np.array([[0.0], [0.4], [0.5], [1.0]]), bins=2).ravel()
    array([0, 0, 1, 1])
    """
    result = np.zeros(values.shape, dtype=np.int64)
    for d in range(values.shape[1]):
        column = np.ascontiguousarray(values[:, d])
        low, high = column.min(), column.max()
        if low < high:
            edges = np.linspace(low, high, bins + 1, dtype=column.dtype)
            result[:, d] = np.searchsorted(edges[1:-1], column, side="right")
    return result


def relabel(values: NDArray[Any]) -> tuple[Labels, int]:
    """Class numbers 0..m-1 in sorted order of one column's values, and m.

    >>> relabel(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    if np.issubdtype(values.dtype, np.integer):
        low, high = int(values.min()), int(values.max())
        if high - low < max(1024, 4 * len(values)):  # a lookup table: ten times faster than sorting
            shifted = values.astype(np.int64) - low
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            return (np.cumsum(present) - 1)[shifted], int(present.sum())
    known, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64).reshape(-1), len(known)


def entropy(counts: NDArray[Any], axis: int = -1) -> Float:
    """H = -sum p log p of (unnormalised) counts along an axis.

    >>> entropy(np.array([5, 5])).round(6)
    np.float64(0.693147)
    """
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=axis)
    logs = np.log(np.where(counts > 0, counts, 1.0))
    safe = np.where(total > 0, total, 1.0)
    return np.asarray(np.maximum(np.log(safe) - (counts * logs).sum(axis=axis) / safe, 0.0))[()]


def entropies(labels: Labels) -> Float:
    """(n, K) -> (K,): H of every column of class numbers."""
    return np.array([entropy(np.bincount(labels[:, k])) for k in range(labels.shape[1])])


def contingency(left: Labels, right: Labels) -> Float:
    """How often each pair of values occurs, for every column of `left` with one column of `right`.

    (n, D), (n,) -> (D, values of left, values of right)
    """
    rows, columns = int(left.max()) + 1, int(right.max()) + 1
    dims = left.shape[1]
    cells = left * columns + right[:, None] + np.arange(dims) * (rows * columns)
    counts = np.bincount(cells.ravel(), minlength=dims * rows * columns)
    return counts.reshape(dims, rows, columns).astype(np.float64)


def mutual_information(left: Labels, right: Labels) -> Float:
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
    return cast(Float, np.where(result < 1e-14, 0.0, result))
