import numpy as np
import pytest
from scipy.stats import spearmanr

from hatchel.metrics import udr


@pytest.mark.parametrize("similarity", ["spearman", "lasso"])
def test_the_same_dimensions_in_another_order_and_sign_match(similarity, grid):
    other = -grid[:, [2, 0, 1]].astype(float)
    score = udr(grid + 0.0, [other], similarity=similarity)
    assert score.value == pytest.approx(1 if similarity == "spearman" else 0.9)  # the lasso shrinks by alpha


def test_by_hand_from_scipys_rank_correlations(grid, noise):
    left, right = grid + noise, grid @ np.array([[1, 0.5, 0], [0, 1, 0], [0.3, 0, 1]]) + noise[::-1]
    r = np.abs(spearmanr(left, right).statistic[:3, 3:])
    expected = ((r.max(0) ** 2 / r.sum(0)).sum() + (r.max(1) ** 2 / r.sum(1)).sum()) / 6
    assert udr(left, [right]).value == pytest.approx(expected)


def test_the_lasso_is_scikit_learns(grid, noise):
    from sklearn.linear_model import Lasso

    from hatchel.metrics._udr import _lasso, _standardised

    left, right = _standardised(grid + noise), _standardised(noise @ np.array([[1, 1], [2, 0], [0, -1]]) + grid[:, :2])
    expected = np.abs(Lasso(alpha=0.1, tol=1e-10).fit(left, right).coef_).T
    assert _lasso(left, right, 0.1) == pytest.approx(expected, abs=1e-6)
    assert (_lasso(left, right, 0.1) == 0).any()


def test_dead_dimensions_are_not_informative_and_the_median_is_taken(grid, noise):
    dead = np.c_[grid, np.zeros(len(grid))]
    score = udr(dead, [grid, grid[:, ::-1], noise])
    assert score.value == pytest.approx(1)
    assert score.parts["model_3"] < 0.1
    assert udr(np.zeros((len(grid), 2)), [grid]).value == 0
