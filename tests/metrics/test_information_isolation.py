import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import information_isolation

rng = np.random.default_rng(0)


def test_the_two_sides_of_the_lemma_agree():
    codes = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 3))
    for subset in (None, (0, 2), (1,)):
        score = information_isolation(codes, np.full((800, 3), 0.4), subset=subset)
        assert score.value == pytest.approx(score.parts["conditional"] - score.parts["marginal"], abs=1e-4)
    assert information_isolation(codes, np.full((800, 3), 0.4), subset=(1,)).value == pytest.approx(0, abs=1e-4)


def test_independent_dimensions_are_isolated_and_copies_are_not():
    axis = np.linspace(-3, 3, 25)
    independent = np.stack([a.ravel() for a in np.meshgrid(axis, axis)], axis=1)  # an exact product
    assert information_isolation(independent, np.full(2, 0.3)).value == pytest.approx(0, abs=1e-4)
    copies = np.repeat(rng.normal(size=(1000, 1)), 2, axis=1)
    shared = -0.5 * np.log(1 - (1 / (1 + 0.3**2)) ** 2)  # -TC of two noisy copies of a normal variable
    assert information_isolation(copies, np.full(2, 0.3)).value == pytest.approx(-shared, abs=0.08)


def test_a_subset_names_dimensions_once():
    for subset in ((0, 5), (1, 1), ()):
        with pytest.raises(HatchelError, match="expected dimensions 0 to 1, each once"):
            information_isolation(np.zeros((9, 2)), np.ones(2), subset=subset)


def test_correlated_noise_adds_its_closed_form():
    """The paper's violation: noise with (1 - r) I + r 1 1^T, r = 0.9."""
    codes, r = rng.normal(size=(600, 3)), 0.9
    noise = (1 - r) * np.eye(3) + r
    for subset in (None, (0, 2)):
        score = information_isolation(codes, np.full(3, 0.6), noise=noise, subset=subset)
        size = 3 if subset is None else 2
        closed = -0.5 * np.log((1 - r) ** (size - 1) * (1 - r + size * r))
        assert score.parts["conditional"] == pytest.approx(closed)
        # The two sides are both estimated here: log q(z_S|x) - sum log q(z_i|x) has the closed mean.
        assert score.value == pytest.approx(closed - score.parts["marginal"], abs=0.06)


def test_noise_must_be_a_correlation_matrix():
    for noise in (np.ones((2, 2)), 2 * np.eye(2), np.eye(3)):
        with pytest.raises(HatchelError, match="noise: expected a positive definite correlation matrix, 2 x 2"):
            information_isolation(np.zeros((9, 2)), np.ones(2), noise=noise)
