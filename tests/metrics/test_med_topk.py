import numpy as np
import pytest

from hatchel.metrics import med, med_topk


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
