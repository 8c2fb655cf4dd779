"""Intervals of slow metrics, from subsamples instead of resamples."""

from __future__ import annotations

import dataclasses

import numpy as np

from hatchel.metrics.intervals import percentile_interval
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


def subsampled(metric: Metric, probe: Probe, seed: int, replicates: int, rows: int) -> Score:
    """The score on all n rows, its interval from `replicates` subsamples of m = `rows` (Politis & Romano 1994).

    Drawn without replacement, a mean of m out of n rows varies by sigma²/m (1 - m/n); over all rows, by sigma²/n. So
    deviations are scaled by sqrt(m / (n - m)). A fit on m rows costs m/n of one on a full resample, and no row is on
    both sides of a split.
    """
    score = metric.score(probe, seed)
    if not replicates:
        return score
    rng = np.random.default_rng(seed)
    parts = (probe.rows(np.sort(rng.choice(probe.n, rows, replace=False))) for _ in range(replicates))
    draws = np.array([metric.score(part, seed).value for part in parts])
    scaled = (draws - draws.mean()) * np.sqrt(rows / (probe.n - rows))
    interval = percentile_interval(score.value, scaled, score.n)
    return dataclasses.replace(score, interval=interval, replicates=replicates)
