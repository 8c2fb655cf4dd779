import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hatchel.metrics.solvers.logistic import GRADIENT, WIDE, logistic_regression


def data(classes, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(rows, 3)) * [1, 5, 0.2] + [0, 3, -1]
    noisy = codes @ [1, 0.3, 4] + rng.normal(size=rows)
    return codes, np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("c", [0.1, 1.0, 100.0])
def test_it_minimises_scikit_learns_objective(classes, c):
    codes, labels = data(classes)
    model = LogisticRegression(C=c, tol=1e-9, max_iter=20_000).fit(codes, labels)
    assert logistic_regression(codes, labels, c).predict_proba(codes) == pytest.approx(
        model.predict_proba(codes), abs=2e-3
    )


def test_the_gradient_of_the_mean_loss_is_below_the_stated_bound():
    codes, labels = data(5)
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    model = logistic_regression(codes, labels)
    slack = (labels[:, None] == np.arange(5)) - model.predict_proba(codes)
    assert np.abs(codes.T @ slack - model.weights).max() / len(codes) < GRADIENT
    assert np.abs(slack.sum(axis=0)).max() / len(codes) < GRADIENT


def test_balanced_classes_weigh_the_same():
    codes, labels = data(3)
    keep = (labels > 0) | (np.arange(len(labels)) % 5 == 0)
    codes, labels = codes[keep], labels[keep]
    model = LogisticRegression(class_weight="balanced", tol=1e-9, max_iter=20_000).fit(codes, labels)
    ours = logistic_regression(codes, labels, balanced=True)
    assert ours.predict_proba(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)


def test_without_penalty_separable_classes_are_certain_and_others_are_not():
    labels = np.arange(300) % 3
    apart = labels[:, None] + 0.4 * np.random.default_rng(0).random((300, 1))
    sure = logistic_regression(apart, labels, np.inf).predict_proba(apart)
    assert sure[np.arange(300), labels].min() == pytest.approx(1)
    codes, labels = data(3)
    model = LogisticRegression(C=np.inf, tol=1e-9, max_iter=20_000).fit(codes, labels)
    ours = logistic_regression(codes, labels, np.inf)
    assert ours.predict_proba(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)


def test_a_constant_dimension_and_shifted_codes_change_nothing():
    codes, labels = data(3)
    plain = logistic_regression(codes, labels).predict_proba(codes)
    longer = np.c_[codes, np.full(len(codes), 7.0)]
    assert logistic_regression(longer, labels).predict_proba(longer) == pytest.approx(plain, abs=1e-6)
    assert logistic_regression(codes + 100, labels).predict_proba(codes + 100) == pytest.approx(plain, abs=1e-6)


def test_the_engine_of_scikit_learn_gives_the_same():
    codes, labels = data(4)
    ours, theirs = (logistic_regression(codes, labels, engine=engine) for engine in ("hatchel", "sklearn"))
    assert ours.predict_proba(codes) == pytest.approx(theirs.predict_proba(codes), abs=2e-3)
    assert (ours.predict(codes) == theirs.predict(codes)).mean() > 0.99


def test_one_class_or_no_dimension_leaves_the_classes_shares():
    one = logistic_regression(np.zeros((5, 2)), np.full(5, 3))
    assert one.predict(np.ones((2, 2))).tolist() == [3, 3]
    labels = np.array([0, 0, 0, 1])
    assert logistic_regression(np.empty((4, 0)), labels).predict_proba(np.empty((1, 0)))[0] == pytest.approx(
        [0.75, 0.25]
    )
    even = logistic_regression(np.empty((4, 0)), labels, balanced=True)
    assert even.predict_proba(np.empty((1, 0)))[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("balanced", [False, True])
def test_many_dimensions_have_the_same_optimum(balanced):
    """More than WIDE, where all classes share one preconditioner; scales that differ a hundredfold."""
    rng = np.random.default_rng(3)
    labels = np.arange(900) % 4
    codes = (labels[:, None] * rng.normal(size=70) * 0.3 + rng.normal(size=(900, 70))) * np.geomspace(0.1, 10, 70)
    assert codes.shape[1] >= WIDE
    options = {"class_weight": "balanced" if balanced else None, "tol": 1e-9, "max_iter": 20_000}
    model = LogisticRegression(**options).fit(codes, labels)
    ours = logistic_regression(codes, labels, balanced=balanced)
    assert ours.predict_proba(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)
