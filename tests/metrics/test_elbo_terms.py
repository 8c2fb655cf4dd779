import numpy as np
import pytest

from hatchel.metrics import elbo_terms

rng = np.random.default_rng(0)


def test_the_three_terms_add_up_to_the_kl():
    codes = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    score = elbo_terms(codes, np.full((500, 4), 0.3))
    total = sum(score.parts[k] for k in ("mutual_information", "total_correlation", "dimension_kl"))
    assert total == pytest.approx(score.value, abs=1e-4)
    closed = 0.5 * (codes**2 + 0.09 - 1 - np.log(0.09)).sum(axis=1).mean()
    assert score.value == pytest.approx(closed, rel=0.05)


def test_gaussian_data_have_closed_forms():
    """mu ~ N(0, [[1, r], [r, 1]]) and std s make q(z) normal with variance 1 + s^2 and correlation r / (1 + s^2)."""
    r, s = 0.8, 0.7
    codes = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=6000)
    score = elbo_terms(codes, np.full((6000, 2), s), draws=6000)
    each = 0.5 * np.log(1 + 1 / s**2)
    assert list(score.parts["mutual_information_per_dimension"].values()) == pytest.approx([each] * 2, abs=0.03)
    tc = -0.5 * np.log(1 - (r / (1 + s**2)) ** 2)
    assert score.parts["total_correlation"] == pytest.approx(tc, abs=0.03)
    assert score.parts["mutual_information"] == pytest.approx(2 * each - tc, abs=0.06)
    assert score.parts["dimension_kl"] == pytest.approx(s**2 - np.log(1 + s**2), abs=0.03)


def test_what_the_number_of_posteriors_allows_is_said():
    score = elbo_terms(rng.normal(size=(300, 1)), np.full((300, 1), 1e-4), posteriors=100)
    assert score.parts["mutual_information"] == pytest.approx(np.log(100), abs=0.05)
    assert "cannot exceed log 100 = 4.61 nats" in score.notes[-1]
