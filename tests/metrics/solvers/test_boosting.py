"""The boosted trees against scikit-learn's, and where they differ on purpose or by their bins."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from hatchel.metrics.solvers.boosting import boost
from hatchel.metrics.solvers.splits import PACK, Histogram


def data(classes, rows=600, values=14, seed=0):
    """Few distinct values, so that the bins are exact, and noisy labels, so that no two splits are equally good."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(values, size=(rows, 4)).astype(float) * [1, -0.5, 3, 0.01]
    mixed = codes[:, 0] / 3 + codes[:, 1] + rng.normal(size=rows) * 2
    return codes, np.digitize(mixed, np.quantile(mixed, np.arange(1, classes) / classes))


def one(codes, labels, **options):
    return boost(codes, [labels], np.random.default_rng(0), **options)[0]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_one_tree_has_the_splits_of_scikit_learn(classes):
    codes, labels = data(classes)
    trees = one(codes, labels, rounds=1, precision=np.float64)
    for column, k in enumerate([1] if classes == 2 else range(classes)):
        tree = DecisionTreeRegressor(max_depth=3, criterion="squared_error", random_state=0)
        tree = tree.fit(codes, (labels == k) - (labels == k).mean()).tree_
        level, ours = [0], 0
        for _ in range(3):
            for node in level:
                assert trees.features[0, ours, column] == tree.feature[node]
                assert trees.thresholds[0, ours, column] == pytest.approx(tree.threshold[node], rel=1e-6)
                ours += 1
            level = [child for node in level for child in (tree.children_left[node], tree.children_right[node])]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_rounds_of_boosting_follow_scikit_learn(classes):
    codes, labels = data(classes)
    model = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(codes, labels)
    ours = one(codes, labels, rounds=8, precision=np.float64)
    assert ours.importances == pytest.approx(model.feature_importances_, abs=1e-6)
    fresh = data(classes, seed=1)[0]
    raw = model.decision_function(fresh).reshape(len(fresh), -1)
    decision = ours.decision(fresh)
    if classes > 2:  # log-odds up to a constant
        raw, decision = (r - r.mean(axis=1, keepdims=True) for r in (raw, decision))
    assert decision == pytest.approx(raw, abs=1e-6)
    assert (ours.predict(fresh) == model.predict(fresh)).all()
    assert (ours.fitted == model.predict(codes)).all()


def test_single_precision_changes_next_to_nothing():
    codes, labels = data(5)
    exact, fast = (one(codes, labels, rounds=8, precision=p) for p in (np.float64, np.float32))
    assert fast.importances == pytest.approx(exact.importances, abs=1e-4)


def test_the_search_around_the_bins_finds_a_cut_inside_one():
    """One class boundary after row 1,237 of 4,000: no end of 16 bins is there, and one tree must still find it."""
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(size=4000))
    codes = np.stack([rng.normal(size=4000), z], axis=1)
    trees = one(codes, (np.arange(4000) > 1237).astype(int), rounds=1, bins=16, depth=1)
    assert trees.features[0, 0, 0] == 1
    assert trees.thresholds[0, 0, 0] == pytest.approx((z[1237] + z[1238]) / 2, abs=1e-6)
    assert trees.importances.tolist() == [0, 1]


def test_a_few_rows_at_an_end_are_set_apart():
    """Three rows of a class beyond all others: the smallest bins are single rows."""
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(5000, 3))
    labels = np.zeros(5000, dtype=int)
    labels[np.argsort(codes[:, 2])[-3:]] = 1
    trees = one(codes, labels, rounds=1)
    assert trees.features[0, 0, 0] == 2
    assert trees.fitted.tolist() == [0] * 5000 or (trees.fitted == labels).all()
    third, fourth = np.sort(codes[:, 2])[[-3, -4]]
    assert trees.thresholds[0, 0, 0] == pytest.approx((third + fourth) / 2, abs=1e-6)


def test_bins_do_not_move_the_importances_of_continuous_codes():
    rng = np.random.default_rng(3)
    codes = rng.normal(size=(1500, 4))
    labels = np.digitize(codes @ [2, 1, 0.5, 0] + 0.3 * rng.normal(size=1500), [-2, 0, 2])
    coarse, exact = one(codes, labels, rounds=40), one(codes, labels, rounds=40, bins=1500, precision=np.float64)
    model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(codes, labels)
    assert exact.importances == pytest.approx(model.feature_importances_, abs=5e-3)
    assert coarse.importances == pytest.approx(model.feature_importances_, abs=2e-2)


def test_factors_together_are_the_factors_alone():
    codes, first = data(3)
    second = data(60, seed=5)[1]  # more classes than grow side by side
    alone = [one(codes, y, rounds=4, precision=np.float64) for y in (first, second)]
    together = boost(codes, [first, second], np.random.default_rng(9), rounds=4, precision=np.float64)
    assert together[0].importances == pytest.approx(alone[0].importances, abs=1e-9)
    assert (together[1].fitted == alone[1].fitted).mean() > 0.9


def test_same_seed_same_trees():
    codes, labels = data(4)
    first, second = one(codes, labels, rounds=10), one(codes, labels, rounds=10)
    assert (first.importances == second.importances).all()
    assert (first.thresholds == second.thresholds).all()


def test_a_constant_dimension_is_never_split_and_alone_gives_no_tree():
    codes, labels = data(3)
    assert one(np.c_[codes, np.full(len(codes), 2.5)], labels, rounds=5).importances[-1] == 0
    nothing = one(np.ones((50, 2)), np.arange(50) % 3, rounds=3)
    assert nothing.importances.tolist() == [0, 0]
    assert np.isinf(nothing.thresholds).all()


def test_labels_of_any_type_come_back():
    codes, labels = data(3)
    names = np.array(["a", "b", "c"])[labels]
    assert set(one(codes, names, rounds=2).predict(codes)) <= {"a", "b", "c"}


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_prefix_sums_are_those_of_the_sorted_rows(precision):
    rng = np.random.default_rng(0)
    codes = np.c_[rng.normal(size=3000), rng.integers(5, size=3000)].astype(np.float32)
    grid = Histogram(codes, 32, precision)
    columns = rng.normal(size=(3000, 3)).astype(precision)
    out = np.empty((grid.bins, 2, 3), dtype=precision)
    grid.sums(columns, out)
    for d in range(2):
        ordered = columns[np.argsort(codes[:, d], kind="stable")].astype(np.float64).cumsum(axis=0)
        for b in range(grid.bins):
            assert out[b, d] == pytest.approx(
                ordered[grid.starts[d, b + 1] - 1], abs=2e-3 if precision == np.float32 else 1e-9
            )
    assert grid.starts[1, :6].tolist() == [0, *np.bincount(codes[:, 1].astype(int)).cumsum()]


def test_two_counts_travel_in_one_number():
    rng = np.random.default_rng(0)
    grid = Histogram(rng.normal(size=(2000, 2)).astype(np.float32), 16, np.float32)
    masks = rng.random((2, 2000, 5)) < 0.4
    apart = [np.empty((grid.bins, 2, 5), dtype=np.float32) for _ in range(4)]
    for mask, out in zip(masks, apart[:2], strict=True):
        grid.sums(mask.astype(np.float32), out)
    grid.pair_counts((masks[0] + PACK * masks[1]).astype(np.float32), (apart[2], apart[3]))
    assert (apart[0] == apart[2]).all()
    assert (apart[1] == apart[3]).all()


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_leaves_are_newton_steps_over_their_rows(precision):
    """sum g / sum p (1 - p) times (K - 1) / K, row by row from where the trees put each one."""
    codes, labels = data(3)
    trees = one(codes, labels, rounds=1, rate=1.0, precision=precision)
    prior = np.bincount(labels) / len(labels)
    for k in range(3):
        moved = trees.decision(codes)[:, k] - np.log(prior[k])
        for leaf in np.unique(moved):
            rows = moved == leaf
            gradient, curvature = ((labels[rows] == k) - prior[k]).sum(), rows.sum() * prior[k] * (1 - prior[k])
            assert leaf == pytest.approx(gradient / curvature * 2 / 3, rel=1e-4, abs=1e-6)
