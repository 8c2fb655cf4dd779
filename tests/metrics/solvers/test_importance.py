import numpy as np
import pytest
from hatchel.metrics.solvers.importance import concentration, weighted_concentration
from scipy.stats import entropy


def test_rows_follow_scipys_entropy():
    matrix = np.random.default_rng(0).random((5, 4))
    assert concentration(matrix) == pytest.approx(1 - entropy(matrix.T, base=4))


def test_weights_are_the_rows_shares():
    assert weighted_concentration(np.array([[3.0, 0.0], [0.5, 0.5]])) == pytest.approx(0.75)
    assert weighted_concentration(np.zeros((2, 2))) == 0


def test_one_column_is_as_concentrated_as_can_be():
    assert concentration(np.array([[2.0], [0.0]])).tolist() == [1, 0]
