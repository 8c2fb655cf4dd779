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


def test_a_factor_has_disintegrated_where_two_carriers_are_independent():
    """Cheng et al. 2020, Sec. 6.3: as sign and magnitude; not as a latent and its copy, nor as a point on a ring."""
    rng = np.random.default_rng(0)
    value, other = rng.choice([-2, -1, 1, 2], size=4000), rng.integers(4, size=4000)
    jitter = 0.05 * rng.normal(size=(4000, 3))
    factors = np.stack([value, other], axis=1)
    split = disintegration(np.stack([np.sign(value), np.abs(value), other], axis=1) + jitter, factors, names=["v", "w"])
    assert split.parts["v"]["carriers"] == ["z0", "z1"]
    assert (split.parts["v"]["independent"], split.parts["w"]["independent"]) == (1, 0)
    assert split.parts["independent_carriers"] == 1
    copied = disintegration(np.stack([value, value, other], axis=1) + jitter, factors, names=["v", "w"])
    assert copied.parts["v"]["carriers"] == ["z0", "z1"]
    assert copied.parts["independent_carriers"] == 0
    hue = rng.integers(12, size=4000)
    ring = np.stack([np.cos(hue * np.pi / 6), np.sin(hue * np.pi / 6)], axis=1) + jitter[:, :2]
    turned = disintegration(ring, hue)
    assert turned.parts["factor_0"]["effective_number"] == pytest.approx(2, abs=0.01)
    assert turned.parts["independent_carriers"] == 0
    # Three carriers of which two are copies: there is still an independent pair.
    three = disintegration(np.stack([np.sign(value), np.sign(value), np.abs(value)], axis=1) + jitter, factors[:, 0])
    assert three.parts["independent_carriers"] == 1


def test_what_no_dimension_tells_has_no_independent_carriers(noise, grid):
    score = disintegration(noise, grid)
    assert score.parts["independent_carriers"] == 0
    assert disintegration(noise, grid, learned=0.0).parts["independent_carriers"] == 3


def test_r2_is_the_squared_correlation(grid, noise):
    codes = np.c_[grid[:, 0] * 2 + noise[:, 0], grid[:, 1:]]
    score = disintegration(codes, grid, by="r2")
    assert score.matrix[0, 0] == pytest.approx(np.corrcoef(codes[:, 0], grid[:, 0])[0, 1] ** 2)


def test_dead_codes_carry_nothing(grid):
    assert disintegration(np.zeros((len(grid), 2)), grid).value == 0
    assert disintegration(np.zeros((len(grid), 2)), grid, by="r2").value == 0
