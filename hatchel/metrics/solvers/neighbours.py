"""Mutual information of one continuous and one discrete variable by nearest neighbours, on sorted values."""

from __future__ import annotations

import numpy as np

from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels


def neighbour_information(codes: Float, labels: Labels, neighbours: int, rng: np.random.Generator) -> Float:
    """(D, K): I(z_d; v_k) in nats of codes (n, D) and class numbers (n, K), at least 0 (Ross 2014, Eq. 4).

    I = psi(n) + <psi(k)> - <psi(n_class)> - <psi(m)>, where m counts the rows of any class nearer than the k-th
    neighbour in the own class. Rows that are alone in their class are left out. As in scikit-learn's
    mutual_info_classif the codes are scaled and get noise of relative size 1e-10 against ties; on a line the sorted
    order gives what trees are built for elsewhere.
    """
    from scipy.special import digamma  # slow to import

    n, dims = codes.shape
    spread = codes.std(axis=0)
    scaled = codes / np.where(spread > 0, spread, 1.0)
    size = np.maximum(1, np.abs(scaled).mean(axis=0))
    scaled = scaled + 1e-10 * size * rng.standard_normal(scaled.shape)
    table = digamma(np.arange(1, n + 1))
    result = np.zeros((dims, labels.shape[1]))
    for d in range(dims):
        order = np.argsort(scaled[:, d], kind="stable")
        for k in range(labels.shape[1]):
            counts = np.bincount(labels[:, k])
            own = labels[order, k]
            kept = counts[own] > 1
            result[d, k] = _information(scaled[order[kept], d], own[kept], counts, neighbours, table)
    return result


def _information(x: Float, labels: Labels, counts: Labels, neighbours: int, table: Float) -> float:
    """x sorted, labels beside it; every class has at least two rows."""
    n = len(x)
    if n == 0:
        return 0.0
    by_class = np.argsort(labels, kind="stable")
    value, label = x[by_class], labels[by_class]
    reach = np.minimum(neighbours, counts[label] - 1)
    end = np.cumsum(np.bincount(label, minlength=len(counts)))[label]
    start = end - counts[label]
    place = np.arange(n)
    radius = np.full(n, np.inf)
    for below in range(neighbours + 1):  # the nearest `reach` rows are `below` of them on the left, the rest right
        low, high = place - below, place - below + reach
        fits = (low >= start) & (high < end) & (below <= reach)
        span = np.maximum(value - value[np.maximum(low, 0)], value[np.clip(high, 0, n - 1)] - value)
        np.minimum(radius, np.where(fits, span, np.inf), out=radius)
    radius = np.nextafter(radius, 0)
    inside = np.empty(n, dtype=np.int64)
    inside[by_class] = place
    radius = radius[inside]
    low, high = np.searchsorted(x, x - radius, side="left"), np.searchsorted(x, x + radius, side="right")
    # x ± radius is rounded; what counts is whether the difference itself is at most the radius.
    low += x - x[np.minimum(low, n - 1)] > radius
    low -= (low > 0) & (x - x[np.maximum(low - 1, 0)] <= radius)
    high -= x[np.maximum(high - 1, 0)] - x > radius
    high += (high < n) & (x[np.minimum(high, n - 1)] - x <= radius)
    found = table[n - 1] + table[reach - 1].mean() - table[counts[label] - 1].mean() - table[high - low - 1].mean()
    return max(0.0, float(found))
