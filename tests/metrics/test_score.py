import json

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import Interval, Score, mig

rng = np.random.default_rng(0)
codes, factors = rng.normal(size=(300, 3)), rng.integers(3, size=(300, 2))


def test_a_score_names_its_variant_and_carries_its_settings():
    score = mig(codes, factors, bins=7, names=["a", "b"], seed=5)
    assert score.name == "mig(bins=7)"
    assert (score.n, score.seed, score.settings["bins"]) == (300, 5, 7)
    assert float(score) == score.value == pytest.approx(np.mean(list(score.parts.values())))
    assert score.matrix.shape == (3, 2)


def test_json_holds_everything_and_no_nan():
    score = mig(codes, np.c_[factors, np.zeros(300)], bootstrap=10)
    data = json.loads(score.to_json())
    assert data["value"] == score.value
    assert data["interval"]["replicates"] == 10
    assert data["notes"] == ["constant factors, left out: factor_2"]
    nan = Score("x", 1.0, matrix=np.array([[np.nan, 2.0]]))
    assert json.loads(nan.to_json())["matrix"] == [[None, 2.0]]


def test_a_score_that_is_not_a_number_cannot_be_made():
    with pytest.raises(HatchelError, match="no finite value"):
        Score("x", float("nan"))


def test_pandas_table_has_dimensions_and_factors():
    frame = mig(codes, factors, names=["a", "b"]).to_pandas()
    assert list(frame.columns) == ["a", "b"]
    assert list(frame.index) == ["z0", "z1", "z2"]


def test_the_interval_contains_the_value_although_resampling_biases_information_upwards():
    score = mig(codes, factors, bootstrap=60)
    assert score.interval.low <= score.value <= score.interval.high
    assert Interval.of(np.full(9, 2.0), value=1.0).low == 1.0


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
