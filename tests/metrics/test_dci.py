import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

from hatchel.core.errors import HatchelError
from hatchel.metrics import DCI, Probe, dci, med, med_topk

REFERENCE = {
    "dsprites__e_nonlinear": (0.320132509, 0.251970055, 0.42224),
    "dsprites__f_two_in_one": (0.827729376, 0.999999999, 1.0),
    "shapes3d__a_perfect": (0.999999999, 0.999999999, 1.0),
    "shapes3d__b_rotated": (0.327859053, 0.29515387, 0.615666667),
}
"""D, C and test accuracy of disentanglement_lib's dci.compute_dci; benchmarks/metrics.py checks all nine cases."""


def whole(name):
    """Training and test rows of an oracle case; the copy beside the tests holds no test rows."""
    folder = os.environ.get("HATCHEL_TEST_ORACLES")
    if not folder:
        pytest.skip(f"oracle {name}: set HATCHEL_TEST_ORACLES to the folder that holds it")
    with np.load(Path(folder) / f"{name}.npz") as archive:
        return dict(archive)


def probe(d, rows=None):
    half = rows and rows // 2
    train = d["codes_train"][:rows], d["factors_train"][:rows]
    return Probe.split(train, (d["codes_test"][:half], d["factors_test"][:half]))


@pytest.mark.parametrize("name", REFERENCE)
def test_agreement_with_the_reference(name):
    score = DCI().score(probe(whole(name)))
    expected = dict(zip(("disentanglement", "completeness", "informativeness"), REFERENCE[name], strict=True))
    assert {k: score.parts[k] for k in expected} == pytest.approx(expected, abs=0.01)
    assert score.value == score.parts["disentanglement"]


def test_agreement_on_fewer_rows():
    """Three seeds of the reference on these rows: D 0.2065 to 0.2070, C 0.1844 to 0.1848, accuracy 0.528 to 0.531."""
    score = DCI().score(probe(whole("shapes3d__b_rotated"), 2000))
    found = [score.parts[k] for k in ("disentanglement", "completeness", "informativeness")]
    assert found == pytest.approx([0.2068, 0.1847, 0.5294], abs=0.02)


def test_importances_are_scikit_learns(grid, noise):
    codes = (grid + 0.7 * noise).round(1)
    here = Probe(codes, grid)
    score = DCI().score(here)
    for k in range(3):
        model = GradientBoostingClassifier(random_state=0).fit(codes[here.train], grid[here.train, k])
        assert score.matrix[:, k] == pytest.approx(model.feature_importances_, abs=0.02)
        accuracy = model.score(codes[here.test], grid[here.test, k])
        assert score.parts["informativeness of"][f"factor_{k}"] == pytest.approx(accuracy, abs=0.02)


def test_the_engine_may_be_scikit_learn(grid, noise):
    codes = (grid + 0.7 * noise).round(1)[:900]
    ours, theirs = DCI().score(Probe(codes, grid[:900])), DCI(engine="sklearn").score(Probe(codes, grid[:900]))
    assert theirs.matrix == pytest.approx(ours.matrix, abs=0.02)
    for part in ("disentanglement", "completeness", "informativeness", "train informativeness"):
        assert theirs.parts[part] == pytest.approx(ours.parts[part], abs=0.02)
    assert theirs.name == "dci(engine=sklearn)"
    assert DCI(engine="sklearn").digest() == DCI().digest()  # how, not what


def test_perfect_codes_in_any_order_sign_and_scale(grid):
    score = dci(grid[:, [2, 0, 1]] * [-4.0, 2.0, 0.5], grid)
    parts = [score.parts[k] for k in ("disentanglement", "completeness", "informativeness", "train informativeness")]
    assert parts == pytest.approx([1, 1, 1, 1], abs=1e-6)
    assert score.parts["error"] == 0


def test_two_factors_in_one_dimension_lower_d_and_not_c(grid):
    score = dci(np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0, grid)
    assert score.parts["completeness"] == pytest.approx(1, abs=1e-6)
    # rho = 2/3 and 1/3; the first dimension serves two of three factors alike.
    assert score.value == pytest.approx(2 / 3 * (1 - np.log(2) / np.log(3)) + 1 / 3, abs=1e-6)


def test_noise_has_none_of_the_three(grid, noise):
    score = dci(noise, grid)
    assert score.value < 0.05
    assert score.parts["informativeness"] < 0.4


def test_dead_dimensions_and_constant_factors(grid, noise):
    codes = grid + 0.3 * noise
    score = dci(np.c_[codes, np.ones(len(grid))], np.c_[grid, np.ones(len(grid))])
    assert score.notes == ("dead dimensions: z3", "constant factors, left out: factor_3")
    assert score.matrix[3, :3].tolist() == [0, 0, 0]
    assert np.isnan(score.matrix[:, 3]).all()
    assert score.value == pytest.approx(dci(codes, grid).value, abs=0.01)


def test_mutual_information_as_importance_is_med(grid, noise):
    codes = grid + noise
    assert dci(codes, grid, regressor="mi").value == med(codes, grid).value


@pytest.mark.parametrize("regressor", ["forest", "lasso", "lightgbm"])
def test_other_regressors_tell_perfect_from_mixed(regressor, grid, noise):
    if regressor == "lightgbm":
        pytest.importorskip("lightgbm")
    rotated = grid @ np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]]) / np.sqrt([2, 2, 1]) + 0.1 * noise
    perfect, mixed = dci(grid + 0.0, grid, regressor=regressor), dci(rotated, grid, regressor=regressor)
    assert perfect.value == pytest.approx(1, abs=0.05)
    assert mixed.value < perfect.value - 0.2
    assert perfect.name == f"dci(regressor={regressor})"
    assert dci(rotated, grid, regressor=regressor).value == mixed.value


def test_forests_that_regress_ordered_factors_against_scikit_learn(grid, noise):
    """Written anew from the paper's Sec. 2; as many trees with other seeds, so that the two agree to a hundredth."""
    codes = grid + 0.7 * noise
    here = Probe(codes, grid, ordered=[True, False, True])
    score = DCI(regressor="forest_regression").score(here)
    importance, errors = np.empty((3, 3)), []
    for k in range(3):
        forest = RandomForestClassifier(max_depth=12) if k == 1 else RandomForestRegressor()
        forest.set_params(n_estimators=10, random_state=99 + k).fit(codes[here.train], grid[here.train, k])
        importance[:, k] = forest.feature_importances_
        if k != 1:
            errors.append(1 - forest.score(codes[here.test], grid[here.test, k]))
    assert score.matrix == pytest.approx(importance, abs=0.02)
    shares = importance / importance.sum(axis=1, keepdims=True)
    own = 1 + (shares * np.log(shares)).sum(axis=1) / np.log(3)
    assert score.value == pytest.approx(own @ importance.sum(axis=1) / importance.sum(), abs=0.01)
    columns = 1 + (importance * np.log(importance)).sum(axis=0) / np.log(3)
    assert score.parts["completeness"] == pytest.approx(columns.mean(), abs=0.01)
    found = score.parts["informativeness of"]
    assert [1 - found["factor_0"], 1 - found["factor_2"]] == pytest.approx(errors, abs=0.03)


def test_forests_that_regress_find_a_perfect_code(grid):
    score = dci(grid[:, [2, 0, 1]] * [-4.0, 2.0, 0.5], grid, regressor="forest_regression")
    parts = [score.parts[k] for k in ("disentanglement", "completeness", "informativeness", "error")]
    assert parts == pytest.approx([1, 1, 1, 0], abs=1e-6)
    assert score.name == "dci(regressor=forest_regression)"


def test_continuous_factors_are_regressed():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1500, 2))
    score = dci(values * [2, -1], values)
    assert score.value > 0.97
    assert 0 < score.parts["error"] < 0.2
    assert score.parts["informativeness"] > 0.95


def test_seeds(grid, noise):
    codes = grid + noise
    assert dci(codes, grid, seed=4).value == dci(codes, grid, seed=4).value
    assert dci(codes, grid, seed=5).value == pytest.approx(dci(codes, grid, seed=4).value, abs=0.01)


def test_lightgbm_is_an_extra(monkeypatch, grid):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(HatchelError, match=r"needs lightgbm: pip install .hatchel\[fast\]"):
        dci(grid, grid, regressor="lightgbm")


def test_med_of_perfect_and_duplicated_codes(grid):
    assert med(grid + 0.0, grid).value == pytest.approx(1)
    score = med(grid[:, [0, 0, 1, 2]] + 0.0, grid)
    assert score.value == pytest.approx(1)
    # One factor shared by two of four dimensions: C = 1 - log 2 / log 4 for it, 1 for the others.
    assert score.parts["completeness"] == pytest.approx((0.5 + 1 + 1) / 3)


def test_med_of_two_equally_held_factors_in_one_dimension(grid):
    """R_0 = (1, 1, 0), R_1 = (0, 0, 1): D = 2/3 (1 - log 2 / log 3) + 1/3."""
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    assert med(two_in_one, grid).value == pytest.approx(2 / 3 * (1 - np.log(2) / np.log(3)) + 1 / 3)


def test_med_dead_dimensions_and_constant_factors_take_no_part(grid, noise):
    expected = med(noise, grid).value
    score = med(np.c_[noise, np.ones(len(grid))], np.c_[grid, np.ones(len(grid))])
    assert score.value == pytest.approx(expected)
    assert np.isnan(score.matrix[:, 3]).all()


def test_med_topk_entangled_rivals_are_left_out(grid):
    """Three perfect dimensions and three mixtures of two: with k = 1 only the perfect ones count."""
    mixtures = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 1] * 5 + grid[:, 2], grid[:, 2] * 3 + grid[:, 0]], axis=1)
    codes = np.c_[grid, mixtures] + 0.0
    assert med(codes, grid).value < 0.8
    score = med_topk(codes, grid, k=1)
    assert score.value == pytest.approx(1)
    assert score.parts["dimensions"] == 3


def test_with_every_dimension_kept_it_is_med(grid, noise):
    assert med_topk(noise, grid, k=3).value == pytest.approx(med(noise, grid).value)
