"""The scikit-learn face: its own checks, and values against the run behind it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from hatchel.api.disentangler import Disentangler
from hatchel.core.errors import HatchelError
from hatchel.latents.mixed import Mixed
from hatchel.latents.scaled_hierarchy import ScaledHierarchy


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


@pytest.mark.parametrize(
    "method, parameters, n_components, kind, width",
    [
        ("vae", {}, None, "diagonal", 10),
        ("hf_vae", {"style": 3, "classes": 4}, None, "mixed", 7),
        ("de_vae", {"dim": 3}, None, "scaled_hierarchy", 3),
        ("de_vae", {}, 4, "scaled_hierarchy", 4),
    ],
)
def test_a_method_keeps_its_own_latent(
    method: str, parameters: dict, n_components: int | None, kind: str, width: int
) -> None:
    _, x = factors(40)
    model = Disentangler(method, n_components, parameters=parameters, steps=2, batch_size=8, hidden=(8,)).fit(x)
    assert model.run_.spec.latent.kind == kind
    codes = model.transform(x)
    np.testing.assert_allclose(codes, model.run_.encode(x), rtol=1e-6)
    assert codes.shape == (40, width)
    np.testing.assert_allclose(model.inverse_transform(codes), model.run_.decode(codes), rtol=1e-6)
    if isinstance(model.run_.spec.latent, Mixed):
        np.testing.assert_allclose(codes[:, :4].sum(1), 1, rtol=1e-5)  # class probabilities
    if isinstance(model.run_.spec.latent, ScaledHierarchy):
        assert model.run_.levels > 1


def test_recurd_keeps_its_number_of_sites() -> None:
    # Its terms read feature maps of a recursive encoder, which rows have none of: all but its depth 0 is for images.
    _, x = factors(40)
    model = Disentangler("recurd", parameters={"depth": 0}, steps=2, batch_size=8, hidden=(8,)).fit(x)
    assert model.transform(x).shape == (40, 8)


def test_the_size_of_a_mixed_latent_is_its_own() -> None:
    with pytest.raises(HatchelError, match="n_components: the latent of this method is 'mixed' with 20 numbers, not 3"):
        Disentangler("hf_vae", 3).fit(factors(40)[1])


def test_schedules_follow_the_steps() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    made = Disentangler("annealed_vae", 2, steps=30, batch_size=16, hidden=(8,)).fit(rows)
    assert made.run_.spec.objective["kl"].weight.steps == 10
