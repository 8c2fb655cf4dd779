import numpy as np
import pytest

from hatchel.metrics import med, med_topk


def test_perfect_and_duplicated_codes_are_disentangled(grid):
    assert med(grid + 0.0, grid).value == pytest.approx(1)
    score = med(grid[:, [0, 0, 1, 2]] + 0.0, grid)
    assert score.value == pytest.approx(1)
    # One factor shared by two of four dimensions: C = 1 - log 2 / log 4 for it, 1 for the others.
    assert score.parts["completeness"] == pytest.approx((0.5 + 1 + 1) / 3)


def test_two_equally_held_factors_in_one_dimension(grid):
    """R_0 = (1, 1, 0), R_1 = (0, 0, 1): D = 2/3 (1 - log 2 / log 3) + 1/3."""
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    assert med(two_in_one, grid).value == pytest.approx(2 / 3 * (1 - np.log(2) / np.log(3)) + 1 / 3)


def test_dead_dimensions_and_constant_factors_take_no_part(grid, noise):
    expected = med(noise, grid).value
    score = med(np.c_[noise, np.ones(len(grid))], np.c_[grid, np.ones(len(grid))])
    assert score.value == pytest.approx(expected)
    assert np.isnan(score.matrix[:, 3]).all()


def test_entangled_rivals_are_left_out(grid):
    """Three perfect dimensions and three mixtures of two: with k = 1 only the perfect ones count."""
    mixtures = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 1] * 5 + grid[:, 2], grid[:, 2] * 3 + grid[:, 0]], axis=1)
    codes = np.c_[grid, mixtures] + 0.0
    assert med(codes, grid).value < 0.8
    score = med_topk(codes, grid, k=1)
    assert score.value == pytest.approx(1)
    assert score.parts["dimensions"] == 3


def test_with_every_dimension_kept_it_is_med(grid, noise):
    assert med_topk(noise, grid, k=3).value == pytest.approx(med(noise, grid).value)
