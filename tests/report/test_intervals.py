from __future__ import annotations

import numpy as np
import pytest

from hatchel.metrics._gaussian_tc import GaussianTC
from hatchel.metrics._mig import MIG
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.report.intervals import subsampled


def probe(n: int = 3000) -> Probe:
    rng = np.random.default_rng(3)
    factors = rng.integers(4, size=(n, 2))
    codes = factors @ np.array([[1.0, 0.4], [-0.2, 1.0]]) + 0.5 * rng.normal(size=(n, 2))
    return Probe(codes, factors)


@pytest.mark.parametrize("metric", [GaussianTC(), MIG()])
def test_subsamples_give_the_bootstraps_width(metric: Metric) -> None:
    p = probe()
    full, part = metric.score(p, 0, 300).interval, subsampled(metric, p, 0, 300, 1000).interval
    assert full is not None
    assert part is not None
    assert (part.high - part.low) / (full.high - full.low) == pytest.approx(1, abs=0.2)


def test_the_value_is_that_of_all_rows_and_the_seed_decides() -> None:
    p = probe()
    first, again, other = (subsampled(GaussianTC(), p, seed, 10, 500) for seed in (0, 0, 1))
    assert first.value == GaussianTC().score(p).value
    assert first.interval == again.interval != other.interval
    assert subsampled(GaussianTC(), p, 0, 0, 500).interval is None
