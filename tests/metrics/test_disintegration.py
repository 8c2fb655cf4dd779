import numpy as np
import pytest

from hatchel.metrics import disintegration


def test_which_dimensions_carry_a_factor(grid, noise):
    v = grid[:, 2]
    codes = np.stack([np.minimum(v, 2), np.maximum(v, 2), grid[:, 0], noise[:, 0]], axis=1) + 0.0
    score = disintegration(codes, grid, names=["a", "b", "c"])
    assert score.parts["c"]["carriers"] == ["z0", "z1"]
    assert score.parts["c"]["effective_number"] == pytest.approx(2)
    assert score.parts["c"]["gap"] == pytest.approx(0)
    assert score.parts["a"]["carriers"] == ["z2"]
    assert score.parts["a"]["effective_number"] == pytest.approx(1)


def test_carriers_that_repeat_each_other_depend_and_independent_ones_do_not(grid):
    copies = disintegration(grid[:, [0, 0, 1, 2]] + 0.0, grid)
    assert copies.parts["factor_0"]["dependence"] == pytest.approx(1)
    two = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)  # one factor with four values as two independent bits
    bits = disintegration(two + 0.0, two[:, 0] * 2 + two[:, 1])
    assert bits.parts["factor_0"]["dependence"] == pytest.approx(0)
    assert bits.value == pytest.approx(2)


def test_r2_is_the_squared_correlation(grid, noise):
    codes = np.c_[grid[:, 0] * 2 + noise[:, 0], grid[:, 1:]]
    score = disintegration(codes, grid, by="r2")
    assert score.matrix[0, 0] == pytest.approx(np.corrcoef(codes[:, 0], grid[:, 0])[0, 1] ** 2)


def test_dead_codes_carry_nothing(grid):
    assert disintegration(np.zeros((len(grid), 2)), grid).value == 0
    assert disintegration(np.zeros((len(grid), 2)), grid, by="r2").value == 0
