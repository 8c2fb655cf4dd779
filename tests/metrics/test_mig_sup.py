import numpy as np
import pytest

from hatchel.metrics import mig_sup


def test_two_factors_in_one_dimension_have_no_gap(grid):
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    score = mig_sup(two_in_one, grid)
    assert score.parts == pytest.approx({"z0": 0, "z1": 1})
    assert score.value == pytest.approx(0.5)


def test_a_factor_held_twice_is_no_fault_and_a_dead_dimension_counts_zero(grid):
    assert mig_sup(grid[:, [0, 0, 1, 2]] + 0.0, grid).value == pytest.approx(1)
    assert mig_sup(np.c_[grid, np.zeros(len(grid))] + 0.0, grid).value == pytest.approx(3 / 4)
