"""Fits: how much of an ordered factor one dimension explains on a straight line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hatchel.data.factors import Factor, FactorSpace
from hatchel.latents.layout import Site
from hatchel.metrics.information import Float, squared_correlations
from hatchel.metrics.metric import percentile_interval
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions


@dataclass(frozen=True)
class Fit:
    """One factor and the active dimension that explains most of its variance."""

    factor: str
    dimension: int
    name: str
    """Of the dimension."""
    score: Score
    """R² of the factor given the dimension: their squared correlation."""
    share: float
    """I(z_d; v) / H(v) of the same two."""
    values: Float  # (m,)  the factor's values
    centre: Float  # (m,)  mean of the dimension at each
    spread: Float  # (m,)  and its standard deviation


def factor_grid(factor: Factor) -> Float:
    """What the indices of a factor stand for: its values, or for words and classes the indices themselves."""
    if factor.kind == "discrete":
        return np.arange(factor.size, dtype=np.float64)
    return np.array(factor.values, dtype=np.float64)


def factor_values(probe: Probe, space: FactorSpace, k: int) -> Float:
    """(n,): the value of factor k in every row."""
    return factor_grid(space.factors[k])[np.asarray(probe.values)[:, k].astype(np.int64)]


def r2_matrix(probe: Probe, space: FactorSpace, variables: Sequence[Site]) -> Float:
    """(S, K): R² of every factor and real coordinate (Cheng et al. 2020, Fig. 8); NaN for a class or a still factor."""
    result = np.full((len(variables), len(space.factors)), np.nan)
    real = [s for s, site in enumerate(variables) if not site.discrete]
    columns = [variables[s].columns[0] for s in real]
    for k in probe.varying if real else ():
        result[real, k] = squared_correlations(probe.codes[:, columns], factor_values(probe, space, int(k)))
    return result


def fits(probe: Probe, space: FactorSpace | None, dimensions: Dimensions, seed: int, bootstrap: int) -> tuple[Fit, ...]:
    """One for every continuous factor that varies; the interval is for the dimension chosen on all rows.

    Chosen among the active dimensions: the mean of a collapsed one often still follows a factor by a trace, on which
    the decoder cannot act. Where none is active, as in an untrained network, among all.
    """
    if space is None or dimensions.shares is None or not len(dimensions.real):
        return ()
    found: list[Fit] = []
    active = np.intersect1d(dimensions.active, dimensions.real)
    eligible = active if len(active) else dimensions.real
    r2s = r2_matrix(probe, space, dimensions.sites)
    rng = np.random.default_rng(seed)
    for k, factor in enumerate(space.factors):
        if factor.kind != "continuous" or k not in probe.varying:
            continue
        values, r2 = factor_values(probe, space, k), r2s[:, k]
        best = int(eligible[r2[eligible].argmax()])
        column = probe.codes[:, [dimensions.column(best)]]
        interval = None
        if bootstrap:
            rows = (rng.integers(probe.n, size=probe.n) for _ in range(bootstrap))
            draws = [squared_correlations(column[r], values[r])[0] for r in rows]
            interval = percentile_interval(float(r2[best]), np.array(draws), probe.n)
        score = Score(
            f"r2_{factor.name}", float(r2[best]), n=probe.n, seed=seed, interval=interval, replicates=bootstrap
        )
        grid = np.unique(values)
        groups = [column[values == v, 0] for v in grid]
        centre, spread = (np.array([f(g) for g in groups], dtype=np.float64) for f in (np.mean, np.std))
        share = float(dimensions.shares[best, k])
        found.append(Fit(factor.name, best, dimensions.name(best), score, share, grid, centre, spread))
    return tuple(found)
