import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.metrics import mutual_info_score

from hatchel.metrics.information import (
    concentration,
    contingency,
    covariance,
    discretise,
    entropies,
    entropy,
    gap,
    mean_squares,
    mutual_information,
    relabel,
    variances,
    weighted_concentration,
)

values = hnp.arrays(np.float64, (37, 2), elements=st.floats(-1e6, 1e6, width=32))
labels = hnp.arrays(np.int64, (41, 2), elements=st.integers(0, 5))


@given(values, st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_discretise_is_numpys_digitize_on_its_own_histogram_edges(x, bins):
    for d in range(x.shape[1]):
        column = x[:, d]
        if column.min() < column.max():
            edges = np.linspace(column.min(), column.max(), bins + 1)
            if (np.diff(edges) <= 0).any():  # a range of a few floats has no such bins
                continue
            assert np.array_equal(discretise(x, bins)[:, d], np.digitize(column, edges[:-1]) - 1)
        else:
            assert not discretise(x, bins)[:, d].any()


def test_float32_and_float64_codes_fall_into_the_same_bins():
    x = np.linspace(0, 1, 41, dtype=np.float32)[:, None]  # every second value sits on an edge
    assert np.array_equal(discretise(x.astype(np.float64), 20), discretise(x.astype(np.float64) * 2, 20))
    assert discretise(x.astype(np.float64), 20).max() == 19


@given(labels)
@settings(max_examples=40, deadline=None)
def test_mutual_information_is_scikit_learns(x):
    for i in range(2):
        expected = mutual_info_score(x[:, i], x[:, 1])
        assert mutual_information(x, x)[i, 1] == pytest.approx(expected, abs=1e-12)


@given(labels)
@settings(max_examples=40, deadline=None)
def test_information_is_symmetric_and_bounded_by_the_entropies(x):
    shared, spread = mutual_information(x, x), entropies(x)
    assert np.allclose(shared, shared.T, atol=1e-12)
    assert np.allclose(np.diag(shared), spread, atol=1e-12)
    assert (shared <= np.minimum.outer(spread, spread) + 1e-12).all()
    assert (shared >= 0).all()


def test_entropy_of_known_distributions():
    assert entropy(np.full(8, 3)) == pytest.approx(np.log(8))
    assert entropy(np.array([4, 0, 0])) == 0
    assert entropy(np.array([1, 3])) == pytest.approx(-(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))


def test_contingency_counts_pairs():
    left = np.array([[0, 1], [1, 1], [1, 0]])
    assert contingency(left, np.array([0, 0, 1])).tolist() == [[[1, 0], [1, 1]], [[0, 1], [2, 0]]]


@pytest.mark.parametrize("column", [np.array([5, -3, 5]), np.array(["b", "a", "b"]), np.array([0.5, 0.1, 0.5])])
def test_relabel_numbers_values_in_order(column):
    numbers, count = relabel(column)
    assert numbers.tolist() == [1, 0, 1]
    assert count == 2


def test_gap_of_one_row_is_the_value_itself():
    assert gap(np.array([[0.7, 0.2]])).tolist() == [0.7, 0.2]


def test_rows_follow_scipys_entropy():
    matrix = np.random.default_rng(0).random((5, 4))
    assert concentration(matrix) == pytest.approx(1 - stats.entropy(matrix.T, base=4))


def test_weights_are_the_rows_shares():
    assert weighted_concentration(np.array([[3.0, 0.0], [0.5, 0.5]])) == pytest.approx(0.75)
    assert weighted_concentration(np.zeros((2, 2))) == 0


def test_one_column_is_as_concentrated_as_can_be():
    assert concentration(np.array([[2.0], [0.0]])).tolist() == [1, 0]


def test_blocks_change_nothing(monkeypatch):
    """Moments are numpy's and counts those of all rows at once, however many rows are looked at at a time."""
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(500, 3)) + 5, rng.integers(4, size=500)
    whole = discretise(x, 7), contingency(discretise(x, 7), labels)
    monkeypatch.setattr("hatchel.metrics.information.BLOCK", 90)
    assert (discretise(x, 7) == whole[0]).all()
    assert (contingency(whole[0], labels) == whole[1]).all()
    assert variances(x) == pytest.approx(x.var(axis=0))
    assert mean_squares(x) == pytest.approx((x**2).mean(axis=0))
    assert covariance(x) == pytest.approx(np.cov(x, rowvar=False))
    assert covariance(x[:1]).tolist() == [[0] * 3] * 3
