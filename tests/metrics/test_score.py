import json

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate
from hatchel.metrics import Score, mig

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


def test_a_score_is_read_from_its_json():
    score = mig(codes, np.c_[factors, np.zeros(300)], bootstrap=10, seed=3)
    again = Score.from_dict(json.loads(score.to_json()))
    assert (again.interval, again.replicates) == (score.interval, 10)
    assert again.interval == Estimate(score.value, score.interval.low, score.interval.high, n=300)
    assert np.array_equal(again.matrix, score.matrix, equal_nan=True)
    assert again.to_dict() == score.to_dict()


def test_json_of_version_0_1_is_read():
    interval = {"low": 0.25, "high": 0.75, "level": 0.9, "replicates": 9}
    old = {
        "name": "mig", "value": 0.5, "parts": {"a": 0.5}, "matrix": [[0.1, None]], "factors": ["a", "b"],
        "settings": {"bins": 20}, "n": 100, "seed": 0, "notes": ["x"], "interval": interval,
    }  # fmt: skip
    score = Score.from_dict(old)
    assert score.interval == Estimate(0.5, 0.25, 0.75, n=100, level=0.9)
    assert (score.replicates, score.notes, score.factors) == (9, ("x",), ("a", "b"))
    assert score.to_dict() == old
