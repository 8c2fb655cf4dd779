import numpy as np
import pytest
from sklearn.svm import LinearSVC

from hatchel.metrics.solvers.margins import Margins


def data(classes, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum(), size=500)
    codes = np.stack(
        [labels + 0.7 * rng.normal(size=500), -3 * labels + rng.normal(size=500) + 40, rng.random(500)], axis=1
    )
    return codes, labels


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("c", [0.01, 1.0])
def test_each_line_is_that_of_a_converged_linear_svc(classes, c):
    codes, labels = data(classes)
    lines = Margins(codes, labels[:, None], c)
    for d in range(3):
        model = LinearSVC(C=c, class_weight="balanced", dual=False, tol=1e-13, max_iter=100_000)
        model.fit(codes[:, d : d + 1], labels)
        ours = slice(1, 2) if classes == 2 else slice(None)
        assert lines.slopes[d, ours] == pytest.approx(model.coef_[:, 0], abs=1e-6)
        assert lines.offsets[d, ours] == pytest.approx(model.intercept_, abs=1e-5)
        fresh, truth = data(classes, seed=1)
        plain, balanced = lines.accuracies(fresh, truth[:, None])
        assert plain[d, 0] == pytest.approx((model.predict(fresh[:, d : d + 1]) == truth).mean(), abs=0.003)
        hits = [(model.predict(fresh[truth == k, d : d + 1]) == k).mean() for k in np.unique(truth)]
        assert balanced[d, 0] == pytest.approx(np.mean(hits), abs=0.01)


def test_the_gradient_vanishes():
    codes, labels = data(4)
    lines = Margins(codes, labels[:, None])
    sign = np.where(labels == 2, 1, -1)
    weight = np.where(labels == 2, len(labels) / (4 * (labels == 2).sum()), 1) * 0.02
    for d in range(3):
        gap = np.maximum(0, 1 - sign * (lines.slopes[d, 2] * codes[:, d] + lines.offsets[d, 2]))
        pull = weight * gap * sign
        assert lines.slopes[d, 2] == pytest.approx(pull @ codes[:, d], abs=1e-9)
        assert lines.offsets[d, 2] == pytest.approx(pull.sum(), abs=1e-9)


def test_the_highest_line_wins_everywhere():
    rng = np.random.default_rng(0)
    codes, labels = rng.normal(size=(300, 2)), rng.integers(9, size=(300, 2))
    lines = Margins(codes, labels)
    fresh, truth = rng.normal(size=(4000, 2)) * 30, rng.integers(9, size=(4000, 2))
    for d in range(2):
        for k in range(2):
            span = slice(9 * k, 9 * k + 9)
            chosen = (np.outer(fresh[:, d], lines.slopes[d, span]) + lines.offsets[d, span]).argmax(axis=1)
            assert lines.accuracies(fresh, truth)[0][d, k] == (chosen == truth[:, k]).mean()


def test_a_constant_latent_predicts_one_class():
    labels = np.repeat([0, 1, 2], [10, 20, 30])
    accuracy = Margins(np.full((60, 1), 4.0), labels[:, None]).accuracies(np.full((60, 1), 4.0), labels[:, None])
    assert accuracy[0][0, 0] in (10 / 60, 20 / 60, 30 / 60)
    assert accuracy[1][0, 0] == pytest.approx(1 / 3)
