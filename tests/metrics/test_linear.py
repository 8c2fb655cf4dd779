import numpy as np
import pytest

from hatchel.metrics.linear import logistic_regression


def data(classes, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(rows, 3))
    noisy = codes @ [1, 1.5, 0.8] + rng.normal(size=rows)
    return codes, np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))


@pytest.mark.parametrize("c", [0.1, 1.0, 100.0])
def test_the_gradient_of_the_stated_objective_vanishes(c):
    codes, labels = data(5)
    model = logistic_regression(codes, labels, c)
    slack = (labels[:, None] == np.arange(5)) - model.predict_proba(codes)
    assert np.abs(codes.T @ slack - model.coef_.T / c).max() / len(codes) < 1e-4
    assert np.abs(slack.sum(axis=0)).max() / len(codes) < 1e-4


def test_balanced_classes_weigh_the_same():
    codes, labels = data(3)
    keep = (labels > 0) | (np.arange(len(labels)) % 5 == 0)
    codes, labels = codes[keep], labels[keep]
    model = logistic_regression(codes, labels, balanced=True)
    weight = (len(labels) / (3 * np.bincount(labels)))[labels]
    slack = ((labels[:, None] == np.arange(3)) - model.predict_proba(codes)) * weight[:, None]
    assert np.abs(codes.T @ slack - model.coef_.T).max() / len(codes) < 1e-4


def test_without_penalty_separable_classes_are_certain():
    labels = np.arange(300) % 3
    apart = labels[:, None] - 1 + 0.4 * np.random.default_rng(0).random((300, 1))
    sure = logistic_regression(apart, labels, np.inf, tolerance=1e-5).predict_proba(apart)
    assert sure[np.arange(300), labels].min() == pytest.approx(1, abs=0.01)


def test_one_class_or_no_dimension_leaves_the_classes_shares():
    one = logistic_regression(np.zeros((5, 2)), np.full(5, 3))
    assert one.predict(np.ones((2, 2))).tolist() == [3, 3]
    labels = np.array([0, 0, 0, 1])
    assert logistic_regression(np.empty((4, 0)), labels).predict_proba(np.empty((1, 0))).tolist() == [[0.75, 0.25]]
    even = logistic_regression(np.empty((4, 0)), labels, balanced=True)
    assert even.predict_proba(np.empty((1, 0))).tolist() == [[0.5, 0.5]]
