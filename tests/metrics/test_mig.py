import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import dcimig, jemmig, mig, mig_sup, rmig


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


def test_two_factors_in_one_dimension_have_no_gap(grid):
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    score = mig_sup(two_in_one, grid)
    assert score.parts == pytest.approx({"z0": 0, "z1": 1})
    assert score.value == pytest.approx(0.5)


def test_a_factor_held_twice_is_no_fault_and_a_dead_dimension_counts_zero(grid):
    assert mig_sup(grid[:, [0, 0, 1, 2]] + 0.0, grid).value == pytest.approx(1)
    assert mig_sup(np.c_[grid, np.zeros(len(grid))] + 0.0, grid).value == pytest.approx(3 / 4)


def test_known_codes(grid):
    assert dcimig(grid[:, [0, 0, 1, 2]] + 0.0, grid).value == pytest.approx(1)
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    # z0 is led by the factor with 4 values, by log 4 - log 3; the factor with 3 leads nothing.
    expected = (np.log(4) - np.log(3) + np.log(5)) / (np.log(3) + np.log(4) + np.log(5))
    assert dcimig(two_in_one, grid).value == pytest.approx(expected)


def test_noise_scores_nothing(grid, noise):
    assert dcimig(noise, grid).value < 0.02


def test_classes_far_apart_are_known_and_overlapping_ones_are_not(grid):
    assert rmig(grid * 30.0, grid, np.ones(3), draws=500).value == pytest.approx(1, abs=0.03)
    assert rmig(grid * 1e-3, grid, np.ones(3), draws=500).value == pytest.approx(0, abs=1e-3)


def test_parts_are_nats(grid):
    score = rmig(grid * 30.0, grid, np.ones(3), draws=1000)
    assert list(score.parts.values()) == pytest.approx(np.log([3, 4, 5]), abs=0.06)


def test_it_is_the_gap_of_the_aggregate_estimator(grid, noise):
    std = np.full(3, 0.5)
    assert rmig(noise + grid, grid, std).value == pytest.approx(
        mig(noise + grid, grid, std=std, estimator="aggregate").value
    )


def test_perfect_codes_have_no_joint_entropy_beyond_the_gap(grid):
    score = jemmig(grid + 0.0, grid)
    assert score.value == pytest.approx(0, abs=1e-12)
    assert score.parts["normalised"] == pytest.approx(1)


def test_by_hand_for_a_code_with_too_much_detail(grid):
    """z = (v0, v1) in one: H(z, v0) = log 12, gap log 3; v2 in none: H(z, v2) = log 12 + log 5, no gap."""
    codes = (grid[:, :1] * 4 + grid[:, 1:2]) + 0.0
    score = jemmig(codes, grid)
    expected = [np.log(12) - np.log(3), np.log(12) - np.log(4), np.log(12) + np.log(5)]
    assert [score.parts[f"factor_{k}"] for k in range(3)] == pytest.approx(expected)
    scale = np.log([3, 4, 5]) + np.log(20)
    assert score.parts["normalised"] == pytest.approx(np.mean(1 - expected / scale))
