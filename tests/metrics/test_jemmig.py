import numpy as np
import pytest

from hatchel.metrics import jemmig


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
