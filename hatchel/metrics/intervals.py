"""How a metric's interval is made: a property of the metric, the same wherever it is measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hatchel.core.estimate import Estimate
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe

Measure = Callable[[Probe], float]
REPLICATES = 200
"""Where the caller does not say how many."""


@dataclass(frozen=True)
class Bootstrap:
    """As many rows as there are, drawn with replacement (Efron 1979); every row stays on its side of the split."""

    most: int | None = None
    """Replicates, where one takes long."""

    def count(self, asked: int | None) -> int:
        """How many replicates are made where so many are asked for; None: as many as usual."""
        return min(REPLICATES if asked is None else asked, self.most or sys.maxsize)

    def describe(self, n: int) -> str:
        """What an interval on n rows comes from."""
        return "resamples"

    def draws(self, measure: Measure, probe: Probe, rng: np.random.Generator, replicates: int) -> Float:
        """The score of every replicate, up to a constant; their spread is that of scores on all rows."""
        return np.array([measure(probe.resampled(rng)) for _ in range(replicates)])


@dataclass(frozen=True)
class Subsampling(Bootstrap):
    """m out of n rows, drawn without replacement (Politis & Romano 1994), for metrics that fit a predictor.

    A mean of m out of n rows varies by sigma²/m (1 - m/n); over all rows, by sigma²/n. So deviations are scaled by
    sqrt(m / (n - m)). A fit on m rows costs m/n of one on a full resample, and no row is on both sides of a split.
    Where there are fewer than 2 m rows, the bootstrap takes its place.
    """

    rows: int = 3000
    """m."""

    def describe(self, n: int) -> str:
        return "resamples" if n < 2 * self.rows else f"subsamples of {self.rows:,}"

    def draws(self, measure: Measure, probe: Probe, rng: np.random.Generator, replicates: int) -> Float:
        n, m = probe.n, self.rows
        if n < 2 * m:
            return super().draws(measure, probe, rng, replicates)
        parts = (np.sort(rng.choice(n, m, replace=False)) for _ in range(replicates))
        found = np.array([measure(probe.rows(part)) for part in parts])
        return (found - found.mean()) * np.sqrt(m / (n - m))


def percentile_interval(value: float, draws: Float, n: int, level: float = 0.95) -> Estimate:
    """The percentile interval (Efron 1979) of replicates, recentred on the value itself.

    Recentred, because a resample repeats rows and so every count-based information in it is too large by the same
    bias again: around 0 the plain percentiles would leave out the value.

    >>> percentile_interval(40.0, np.arange(101.0), n=500, level=0.9)
    Estimate(value=40.0, low=-5.0, high=85.0, n=500, level=0.9)
    """
    tail = 50 * (1 - level)
    low, high = np.percentile(draws - draws.mean() + value, [tail, 100 - tail])
    return Estimate(value, round(float(low), 12), round(float(high), 12), n, level)
