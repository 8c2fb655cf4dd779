import numpy as np
import pytest
from scipy.stats import spearmanr

from hatchel.core.errors import HatchelError
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

    from hatchel.metrics._udr import _lasso
    from hatchel.metrics.information import standardised

    left, right = standardised(grid + noise), standardised(noise @ np.array([[1, 1], [2, 0], [0, -1]]) + grid[:, :2])
    expected = np.abs(Lasso(alpha=0.1, tol=1e-10).fit(left, right).coef_).T
    assert _lasso(left, right, 0.1) == pytest.approx(expected, abs=1e-6)
    assert (_lasso(left, right, 0.1) == 0).any()


def test_dead_dimensions_are_not_informative_and_the_median_is_taken(grid, noise):
    dead = np.c_[grid, np.zeros(len(grid))]
    score = udr(dead, [grid, grid[:, ::-1], noise])
    assert score.value == pytest.approx(1)
    assert score.parts["model_3"] < 0.1
    assert udr(np.zeros((len(grid), 2)), [grid]).value == 0


def test_informative_by_kl_as_in_the_paper(grid, noise):
    # Dimension 3 hardly moves, but its posterior is narrow: little variance, much KL. Dimension 4 moves, within a
    # posterior of the prior's width: by hand KL = (mu^2 + s^2 - 1 - log s^2) / 2.
    quiet, loose = 0.05 * noise[:, :1], 0.12 * noise[:, 1:2]
    codes = np.c_[grid, quiet, loose]
    std = np.r_[0.5, 0.5, 0.5, 0.05, 1.0]
    kl = 0.5 * (codes**2 + std**2 - 1 - 2 * np.log(std)).mean(0)
    assert codes.var(0)[3] < 0.01 < codes.var(0)[4]
    assert kl[4] < 0.01 < kl[3]
    given = {"std": std, "others_std": [np.full(3, 0.5)]}
    assert udr(codes, [grid], informative="kl", **given).value == pytest.approx(
        udr(codes[:, :4], [grid], threshold=0).value
    )
    assert udr(codes, [grid], **given).value == pytest.approx(udr(codes[:, [0, 1, 2, 4]], [grid], threshold=0).value)
    still = np.c_[grid, np.full(len(grid), 3.0)]
    assert udr(still, [grid], informative="kl", std=np.ones(4), others_std=[np.ones(3)]).value == pytest.approx(1)


def test_kl_needs_everybodys_deviations(grid):
    with pytest.raises(HatchelError, match="standard deviations of the other models"):
        udr(grid, [grid], informative="kl", std=np.ones(3))
    with pytest.raises(HatchelError, match="needs std"):
        udr(grid, [grid], informative="kl", others_std=[np.ones(3)])
    with pytest.raises(HatchelError, match="one for each of the 1 others"):
        udr(grid, [grid], others_std=[])
