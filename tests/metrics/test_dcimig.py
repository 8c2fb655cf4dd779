import numpy as np
import pytest

from hatchel.metrics import dcimig


def test_known_codes(grid):
    assert dcimig(grid[:, [0, 0, 1, 2]] + 0.0, grid).value == pytest.approx(1)
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    # z0 is led by the factor with 4 values, by log 4 - log 3; the factor with 3 leads nothing.
    expected = (np.log(4) - np.log(3) + np.log(5)) / (np.log(3) + np.log(4) + np.log(5))
    assert dcimig(two_in_one, grid).value == pytest.approx(expected)


def test_noise_scores_nothing(grid, noise):
    assert dcimig(noise, grid).value < 0.02
