import numpy as np
import pytest

from hatchel.metrics import modularity


def test_two_factors_in_one_dimension(grid):
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    expected = 1 - np.log(3) ** 2 / (2 * np.log(4) ** 2)
    assert modularity(two_in_one, grid).parts == pytest.approx({"z0": expected, "z1": 1})


def test_a_dimension_without_information_counts_zero_or_is_left_out(grid):
    codes = np.c_[grid, np.zeros(len(grid))] + 0.0
    assert modularity(codes, grid).value == pytest.approx(3 / 4)
    assert modularity(codes, grid, empty="left out").value == pytest.approx(1)


def test_all_dead_is_zero_not_nan(grid):
    assert modularity(np.zeros((len(grid), 2)), grid, empty="left out").value == 0


def test_a_constant_factor_does_not_add_a_rival(grid):
    """On purpose not as the reference library, which would divide by K - 1 with the constant one counted."""
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    assert modularity(two_in_one, np.c_[grid, np.ones(len(grid))]).value == modularity(two_in_one, grid).value
