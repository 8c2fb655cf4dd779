from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from hatchel.metrics import clustering

rng = np.random.default_rng(0)


def test_accuracy_is_the_best_over_all_maps_and_nmi_is_scikit_learns():
    labels = rng.integers(4, size=200)
    clusters = np.where(rng.random(200) < 0.4, rng.integers(4, size=200), (labels + 1) % 4)
    score = clustering(clusters, labels)
    best = max(np.mean(np.array(order)[clusters] == labels) for order in permutations(range(4)))
    assert score.value == pytest.approx(best)
    assert score.parts["nmi"] == pytest.approx(normalized_mutual_info_score(labels, clusters))


def test_more_clusters_than_classes_leave_some_unmatched():
    assert clustering([0, 1, 2, 2], [0, 0, 1, 1]).value == pytest.approx(3 / 4)


def test_one_cluster_knows_nothing():
    score = clustering(np.zeros(6), [0, 0, 1, 1, 2, 2])
    assert score.value == pytest.approx(1 / 3)
    assert score.parts["nmi"] == 0
