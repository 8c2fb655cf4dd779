import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif

from hatchel.metrics.solvers.neighbours import neighbour_information


class SameNoise:
    """The noise that scikit-learn adds for random_state=0."""

    def standard_normal(self, shape):
        return np.random.RandomState(0).standard_normal(size=shape)


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_it_equals_scikit_learns_estimate(neighbours):
    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=(800, 2))
    labels[:3, 1] = [7, 8, 8]  # a class of one row, left out, and one of two rows, with fewer neighbours
    codes = np.stack(
        [labels[:, 0] + rng.normal(size=800), 5 * rng.random(800), labels[:, 1] * 2.0 + rng.random(800)], 1
    )
    ours = neighbour_information(codes, labels, neighbours, SameNoise())
    for k in range(2):
        theirs = mutual_info_classif(codes, labels[:, k], n_neighbors=neighbours, random_state=0)
        assert ours[:, k] == pytest.approx(theirs, abs=1e-12)


def test_known_information():
    """Uniform on [v, v + 1) for v in 0, 1/2: half of the interval is shared, I = log 2 / 2."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=20_000)
    found = neighbour_information((labels / 2 + rng.random(20_000))[:, None], labels[:, None], 10, rng)
    assert found[0, 0] == pytest.approx(np.log(2) / 2, abs=0.01)


def test_scale_shift_and_sign_change_next_to_nothing():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(500, 1))
    codes = labels + rng.normal(size=(500, 1))
    first = neighbour_information(codes, labels, 5, np.random.default_rng(0))
    assert neighbour_information(-4 * codes, labels, 5, np.random.default_rng(0)) == pytest.approx(first, abs=1e-3)
