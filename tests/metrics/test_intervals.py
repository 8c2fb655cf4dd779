"""How intervals are made: by the bootstrap, or by subsamples where a predictor is fitted."""

import numpy as np
import pytest

from hatchel.metrics import DCI, MIG, SAP, GaussianTC, Metric, Probe, mig
from hatchel.metrics.intervals import Bootstrap, Subsampling, percentile_interval

rng = np.random.default_rng(0)
codes, factors = rng.normal(size=(300, 3)), rng.integers(3, size=(300, 2))


def test_the_interval_contains_the_value_although_resampling_biases_information_upwards():
    score = mig(codes, factors, bootstrap=60)
    assert score.interval.low <= score.value <= score.interval.high
    assert percentile_interval(1.0, np.full(9, 2.0), n=50).low == 1.0


def test_the_bootstrap_interval_covers_what_fresh_samples_give():
    """200 fresh data sets of one distribution: the 95 % interval of one should be about as wide as their spread."""
    random = np.random.default_rng(1)

    def draw():
        v = random.integers(4, size=(400, 1))
        return mig(v + random.normal(scale=0.5, size=(400, 1)), v, bins=5, bootstrap=0).value

    fresh = np.array([draw() for _ in range(200)])
    v = random.integers(4, size=(400, 1))
    interval = mig(v + random.normal(scale=0.5, size=(400, 1)), v, bins=5, bootstrap=200).interval
    width, expected = interval.high - interval.low, 2 * 1.96 * fresh.std()
    assert 0.6 < width / expected < 1.6


def test_subsamples_give_the_width_of_the_bootstrap():
    """A mean of squares: deviations of subsamples of 1,000 of 6,000 rows are scaled to those of 6,000 rows."""
    probe = Probe(np.random.default_rng(2).normal(size=(6000, 1)))
    widths = [
        np.ptp(np.percentile(how.draws(lambda p: float((p.codes**2).mean()), probe, np.random.default_rng(0), 300), q))
        for how, q in ((Bootstrap(), [2.5, 97.5]), (Subsampling(rows=1000), [2.5, 97.5]))
    ]
    assert widths[1] / widths[0] == pytest.approx(1, abs=0.2)


def test_few_rows_are_resampled_where_subsamples_would_be_most_of_them():
    probe, how = Probe(codes), Subsampling(rows=200)
    sizes = []
    how.draws(lambda p: sizes.append(p.n) or 0.0, probe, np.random.default_rng(0), 2)
    Subsampling(rows=100).draws(lambda p: sizes.append(p.n) or 0.0, probe, np.random.default_rng(0), 2)
    assert sizes == [300, 300, 100, 100]
    assert (how.describe(300), how.describe(400)) == ("resamples", "subsamples of 200")


def test_a_slow_metric_limits_its_replicates_and_the_score_says_how_many():
    probe = Probe(codes, factors)
    assert SAP().score(probe, 0, 50).replicates == SAP.interval.most == 20
    assert MIG().score(probe, 0, 50).replicates == 50
    assert MIG().score(probe, 0, None).replicates == 200
    assert GaussianTC().score(probe).interval is None
    assert DCI.interval == Subsampling(most=8, rows=1500)


def test_a_metric_may_have_no_interval():
    class Still(Metric):
        """Always 1."""

        needs = ()
        interval = None

        def measure(self, probe, rng):
            return self.result(probe, 1.0)

    try:
        score = Still().score(Probe(codes), 0, 20)
        assert (score.interval, score.replicates) == (None, 0)
    finally:
        del Metric._members["still"]


def test_same_seed_same_interval():
    probe = Probe(codes, factors)
    first, again, other = (GaussianTC().score(probe, seed, 20).interval for seed in (0, 0, 1))
    assert first == again != other
