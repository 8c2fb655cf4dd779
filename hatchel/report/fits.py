"""Fits: how much of an ordered factor one dimension explains on a straight line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hatchel.data.factors import FactorSpace
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Interval, Score
from hatchel.report.dimensions import Dimensions


@dataclass(frozen=True)
class Fit:
    """One factor and the active dimension that explains most of its variance."""

    factor: str
    dimension: int
    score: Score
    """R² of the factor given the dimension: their squared correlation."""
    share: float
    """I(z_d; v) / H(v) of the same two."""
    values: Float  # (m,)  the factor's values
    centre: Float  # (m,)  mean of the dimension at each
    spread: Float  # (m,)  and its standard deviation


def squared_correlations(codes: Float, values: Float) -> Float:
    """(n, D), (n,) -> (D,): R² of the straight line from each dimension to the values; 0 where nothing varies.

    >>> squared_correlations(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([5.0, 3.0, 1.0]))
    array([1., 0.])
    """
    centred, target = codes - codes.mean(axis=0), values - values.mean()
    scale = (centred**2).sum(axis=0) * (target**2).sum()
    return np.divide((centred.T @ target) ** 2, scale, out=np.zeros(codes.shape[1]), where=scale > 0)


def fits(probe: Probe, space: FactorSpace | None, dimensions: Dimensions, seed: int, bootstrap: int) -> tuple[Fit, ...]:
    """One for every continuous factor that varies; the interval is for the dimension chosen on all rows.

    Chosen among the active dimensions: the mean of a collapsed one often still follows a factor by a trace, on which
    the decoder cannot act. Where none is active, as in an untrained network, among all.
    """
    if space is None or dimensions.shares is None:
        return ()
    found: list[Fit] = []
    eligible = dimensions.active if len(dimensions.active) else dimensions.order
    rng = np.random.default_rng(seed)
    for k, factor in enumerate(space.factors):
        if factor.kind != "continuous" or k not in probe.varying:
            continue
        grid = np.array(factor.values, dtype=np.float64)
        index = np.asarray(probe.values)[:, k].astype(np.int64)
        values = grid[index]
        r2 = squared_correlations(probe.codes, values)
        best = int(eligible[r2[eligible].argmax()])
        column = probe.codes[:, best : best + 1]
        interval = None
        if bootstrap:
            rows = (rng.integers(probe.n, size=probe.n) for _ in range(bootstrap))
            draws = [squared_correlations(column[r], values[r])[0] for r in rows]
            interval = Interval.of(np.array(draws), float(r2[best]))
        score = Score(f"r2_{factor.name}", float(r2[best]), n=probe.n, seed=seed, interval=interval)
        present = np.unique(index)
        groups = [column[index == i, 0] for i in present]
        centre, spread = (np.array([f(g) for g in groups], dtype=np.float64) for f in (np.mean, np.std))
        found.append(Fit(factor.name, best, score, float(dimensions.shares[best, k]), grid[present], centre, spread))
    return tuple(found)
