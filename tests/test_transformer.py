"""The scikit-learn face: its own checks, and values against the run behind it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from hatchel.transformer import Disentangler


def small() -> Disentangler:
    return Disentangler("vae", n_components=2, steps=3, batch_size=8, hidden=(8,))


CHECKS = list(estimator_checks_generator(small()))


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[c.func.__name__ + str(i) for i, (_, c) in enumerate(CHECKS)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_own_checks(estimator: Disentangler, check) -> None:
    check(estimator)


def factors(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Two factors seen through a fixed linear map, in large units."""
    rng = np.random.default_rng(0)
    v = rng.uniform(-1, 1, (n, 2))
    return v, 1000 + v @ np.array([[200.0, 0, 100], [0, 300.0, 50]])


def test_codes_hold_the_factors_and_decode_in_the_datas_units() -> None:
    v, x = factors()
    model = Disentangler("beta_vae", 2, parameters={"beta": 0.1}, steps=600, learning_rate=3e-3, hidden=(32,)).fit(x)
    codes = model.transform(x)
    assert codes.shape == (600, 2)
    assert LinearRegression().fit(codes, v).score(codes, v) > 0.9
    back = model.inverse_transform(codes)
    explained = 1 - ((back - x) ** 2).sum() / ((x - x.mean(0)) ** 2).sum()
    assert explained > 0.9


def test_same_seed_same_codes_and_pipelines() -> None:
    _, x = factors(100)
    a, b = (small().fit_transform(x) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert make_pipeline(StandardScaler(), small()).fit_transform(x).shape == (100, 2)
