import numpy as np
import pytest

from hatchel.metrics import BetaVAEScore, Probe, beta_vae_score


def test_perfect_one_and_noise_at_chance(grid, noise):
    assert beta_vae_score(grid + 0.0, grid).value == 1
    assert beta_vae_score(noise, grid).value == pytest.approx(1 / 3, abs=0.04)


def test_features_are_mean_differences_of_pairs_that_share_the_factor(grid):
    points, labels = BetaVAEScore()._points(Probe(grid + 0.0, grid), 900, np.random.default_rng(0))
    assert points.shape == (900, 3)
    for k, size in enumerate((3, 4, 5)):
        assert not points[labels == k, k].any()
        # E|a - b| of two independent uniform values among m is (m^2 - 1) / (3 m).
        assert points[labels != k, k].mean() == pytest.approx((size**2 - 1) / (3 * size), rel=0.02)


def test_one_varying_factor_leaves_nothing_to_tell_apart(grid):
    score = beta_vae_score(grid + 0.0, grid[:, 0])
    assert score.value == 1
    assert "nothing to tell apart" in score.notes[-1]
