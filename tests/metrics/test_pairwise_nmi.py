import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from hatchel.core.errors import HatchelError
from hatchel.metrics import PairwiseNMI, Probe, pairwise_nmi
from hatchel.metrics.information import discretise


def test_pairs_are_scikit_learns_geometric_nmi(grid, noise):
    codes = np.c_[noise[:, :2], noise[:, 0] + 0.3 * noise[:, 2]]
    bins = discretise(codes)
    score = pairwise_nmi(codes)
    for i in range(3):
        for j in range(3):
            expected = normalized_mutual_info_score(bins[:, i], bins[:, j], average_method="geometric")
            assert score.matrix[i, j] == pytest.approx(expected)


def test_independent_is_zero_and_dead_dimensions_do_not_divide_by_zero(grid):
    assert pairwise_nmi(grid + 0.0).value == pytest.approx(0, abs=1e-12)
    assert pairwise_nmi(np.c_[grid, np.zeros(len(grid))]).matrix[3].tolist() == [0, 0, 0, 0]


def test_features_of_a_layer(grid, noise):
    probe = Probe(noise, features={"conv": grid[:, [0, 0]] + 0.0})
    assert PairwiseNMI(layer="conv").score(probe).value == pytest.approx(1)
    with pytest.raises(HatchelError, match=r"unknown layer 'cnv'. Did you mean 'conv'"):
        PairwiseNMI(layer="cnv").score(probe)
    with pytest.raises(HatchelError, match="at least two dimensions"):
        pairwise_nmi(noise[:, :1])
