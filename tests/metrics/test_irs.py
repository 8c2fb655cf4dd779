import numpy as np
import pytest

from hatchel.metrics import irs


def test_perfect_codes_do_not_move_while_their_factor_is_fixed(grid):
    assert irs(grid + 0.0, grid).value == pytest.approx(1)


def test_deviation_by_hand():
    """z = v + w, v and w in {0, 1}: with v fixed z is off its mean by 0.5, its largest deviation at all is 1."""
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    score = irs(factors.sum(axis=1, keepdims=True) + 0.0, factors, quantile=1)
    assert score.matrix == pytest.approx(np.array([[0.5, 0.5]]))


def test_quantiles_are_numpys(noise, grid):
    from hatchel.metrics._irs import _quantile

    for q in (0, 0.3, 0.99, 1):
        assert _quantile(noise, q) == pytest.approx(np.quantile(noise, q, axis=0))


def test_many_values_are_held_fixed_in_groups_as_in_the_reference_or_singly():
    factor = np.repeat(np.arange(40), 30)[:, None]
    assert irs(factor + 0.0, factor).value < 0.99
    assert irs(factor + 0.0, factor, bins=40).value == pytest.approx(1)


def test_dead_dimensions_have_no_weight(grid, noise):
    dead = np.c_[noise, np.zeros(len(grid))]
    assert irs(dead, grid).value == irs(noise, grid).value
    assert irs(np.zeros((len(grid), 2)), grid).value == 0
