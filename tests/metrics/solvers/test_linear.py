import numpy as np
import pytest
from hatchel.metrics.solvers.linear import GRADIENT, logistic_accuracy, logistic_regression, one_against_rest_auc
from scipy.stats import mannwhitneyu
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score


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
    assert logistic_regression(codes, labels, c).chances(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)


def test_the_gradient_of_the_mean_loss_is_below_the_stated_bound():
    codes, labels = data(5)
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    model = logistic_regression(codes, labels)
    slack = (labels[:, None] == np.arange(5)) - model.chances(codes)
    assert np.abs(codes.T @ slack - model.weights).max() / len(codes) < GRADIENT
    assert np.abs(slack.sum(axis=0)).max() / len(codes) < GRADIENT


def test_balanced_classes_weigh_the_same():
    codes, labels = data(3)
    keep = (labels > 0) | (np.arange(len(labels)) % 5 == 0)
    codes, labels = codes[keep], labels[keep]
    model = LogisticRegression(class_weight="balanced", tol=1e-9, max_iter=20_000).fit(codes, labels)
    ours = logistic_regression(codes, labels, balanced=True)
    assert ours.chances(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)


def test_without_penalty_separable_classes_are_certain_and_others_are_not():
    labels = np.arange(300) % 3
    apart = labels[:, None] + 0.4 * np.random.default_rng(0).random((300, 1))
    sure = logistic_regression(apart, labels, np.inf).chances(apart)
    assert sure[np.arange(300), labels].min() == pytest.approx(1)
    codes, labels = data(3)
    model = LogisticRegression(C=np.inf, tol=1e-9, max_iter=20_000).fit(codes, labels)
    ours = logistic_regression(codes, labels, np.inf)
    assert ours.chances(codes) == pytest.approx(model.predict_proba(codes), abs=2e-3)


def test_accuracy_is_that_of_the_likeliest_class():
    train, test = data(4), data(4, seed=1)
    model = LogisticRegression(tol=1e-9, max_iter=20_000).fit(*train)
    assert logistic_accuracy(train, test) == pytest.approx((model.score(*train), model.score(*test)), abs=0.003)


def test_a_constant_dimension_and_shifted_codes_change_nothing():
    codes, labels = data(3)
    plain = logistic_regression(codes, labels).chances(codes)
    longer = np.c_[codes, np.full(len(codes), 7.0)]
    assert logistic_regression(longer, labels).chances(longer) == pytest.approx(plain, abs=1e-6)
    assert logistic_regression(codes + 100, labels).chances(codes + 100) == pytest.approx(plain, abs=1e-6)


def test_auc_is_scikit_learns_with_ties():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(500, 4)).round(1), rng.integers(4, size=500)
    areas = one_against_rest_auc(scores, labels)
    assert areas == pytest.approx([roc_auc_score(labels == k, scores[:, k]) for k in range(4)], abs=1e-12)
    pairs = mannwhitneyu(scores[labels == 1, 1], scores[labels != 1, 1]).statistic
    assert areas[1] == pytest.approx(pairs / ((labels == 1).sum() * (labels != 1).sum()))


def test_auc_of_a_class_without_rows_is_not_a_number():
    assert np.isnan(one_against_rest_auc(np.zeros((3, 2)), np.zeros(3, dtype=int))).all()
