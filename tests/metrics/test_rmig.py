import numpy as np
import pytest

from hatchel.metrics import mig, rmig


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
