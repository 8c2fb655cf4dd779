import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import mig


def test_perfect_codes_score_one_in_any_order_sign_and_scale(grid):
    assert mig(grid[:, [2, 0, 1]] * [-4.0, 2.0, 0.5], grid).value == pytest.approx(1)


def test_a_factor_held_twice_has_no_gap(grid):
    score = mig(grid[:, [0, 0, 1, 2]] + 0.0, grid, names=["a", "b", "c"])
    assert score.parts == pytest.approx({"a": 0, "b": 1, "c": 1})
    assert score.value == pytest.approx(2 / 3)


def test_two_factors_in_one_dimension_do_not_lower_it(grid):
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    assert mig(two_in_one, grid).value == pytest.approx(1)


def test_a_spread_factor_has_the_gap_of_its_parts(grid):
    """v in 0..4 as min(v, 2) and max(v, 2): each tells three of five values apart, so the gap is 0."""
    v = grid[:, 2]
    codes = np.stack([np.minimum(v, 2), np.maximum(v, 2), grid[:, 0], grid[:, 1]], axis=1) + 0.0
    score = mig(codes, grid)
    part = -(0.2 * np.log(0.2) * 2 + 0.6 * np.log(0.6))
    assert score.matrix[0, 2] == pytest.approx(part)
    assert score.matrix[1, 2] == pytest.approx(part)
    assert score.parts["factor_2"] == pytest.approx(0)


def test_rotation_and_noise_lower_it(grid, noise):
    angle = np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]]) / np.sqrt([2, 2, 1])
    assert mig(grid @ angle, grid).value < 0.6
    assert mig(noise, grid).value < 0.02


def test_the_matrix_has_a_row_for_each_dimension_not_a_reshaped_one(grid, noise):
    """A well-known code base scrambles I with a view where a transpose is meant: unseen when D = K."""
    codes = np.c_[noise[:, :2], grid[:, 2], grid[:, 0]]
    score = mig(codes, grid)
    assert score.matrix.shape == (4, 3)
    assert score.matrix.argmax(axis=0).tolist()[::2] == [3, 2]
    assert score.matrix[2, 2] == pytest.approx(np.log(5))


def test_a_dead_dimension_changes_nothing_and_is_reported(grid, noise):
    alive = mig(noise, grid)
    score = mig(np.c_[noise, np.full(len(grid), 3.3)], grid)
    assert score.value == alive.value
    assert score.notes == ("dead dimensions: z3",)


def test_a_constant_factor_is_left_out_and_reported(grid, noise):
    """On purpose not as the reference library, which divides 0 by 0 there."""
    score = mig(noise, np.c_[grid, np.ones(len(grid))], names=["a", "b", "c", "d"])
    assert score.value == mig(noise, grid).value
    assert score.notes == ("constant factors, left out: d",)
    assert "d" not in score.parts


def test_subset_leaves_factors_out_as_chen_does(grid, noise):
    codes = np.c_[grid[:, 0], noise[:, 1:]]
    assert mig(codes, grid, names=["a", "b", "c"], subset=["a"]).value > 0.95
    assert mig(codes, grid, names=["a", "b", "c"], subset=["b", "c"]).value < 0.05


def test_a_subset_that_never_varies_is_an_error(grid, noise):
    with pytest.raises(HatchelError, match="none of d takes more than one value"):
        mig(noise, np.c_[grid, np.ones(len(grid))], names=["a", "b", "c", "d"], subset=["d"])


def test_one_dimension_has_no_rival(grid):
    score = mig(grid[:, :1] + 0.0, grid)
    assert score.parts["factor_0"] == pytest.approx(1)


def test_continuous_factors_are_binned(noise):
    values = np.random.default_rng(0).uniform(size=(len(noise), 2))
    assert mig(values, values).value > 0.85
    assert mig(values, values, continuous=True).value == mig(values, values).value


def test_the_aggregate_estimator_needs_deviations_and_finds_separated_classes(grid):
    with pytest.raises(HatchelError, match=r"mig: needs the standard deviations of q\(z\|x\)"):
        mig(grid + 0.0, grid, estimator="aggregate")
    score = mig(grid * 20.0, grid, estimator="aggregate", std=np.ones(3))
    assert score.name == "mig(estimator=aggregate)"
    assert score.value == pytest.approx(1, abs=0.02)
