import os
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import SAP, Probe, sap

REFERENCE = {
    "dsprites__a_perfect": (0.24732, 0.999597198), "dsprites__b_rotated": (0.02964, 0.174358882),
    "dsprites__c_disintegrated": (0.25916, 0.961067657), "dsprites__d_noise": (0.0014, 0.000139815434),
    "dsprites__e_nonlinear": (0.06276, 0.264444573), "dsprites__f_two_in_one": (0.13508, 0.799052278),
    "shapes3d__a_perfect": (0.199966667, 0.999579841), "shapes3d__b_rotated": (0.0284, 0.111738868),
    "shapes3d__d_noise": (0.001, 0.000155102631),
}  # fmt: skip
"""disentanglement_lib's sap_score.compute_sap with discrete and with continuous factors."""


def whole(name):
    """Training and test rows of an oracle case; the copy beside the tests holds no test rows."""
    folder = os.environ.get("HATCHEL_TEST_ORACLES")
    if not folder:
        pytest.skip(f"oracle {name}: set HATCHEL_TEST_ORACLES to the folder that holds it")
    with np.load(Path(folder) / f"{name}.npz") as archive:
        return dict(archive)


def split(d, **options):
    return Probe.split((d["codes_train"], d["factors_train"]), (d["codes_test"], d["factors_test"]), **options)


@pytest.mark.parametrize("name", REFERENCE)
def test_agreement_with_the_reference(name):
    """Two versions of the reference differ by up to 5e-5 for discrete factors: a solver's tolerance."""
    discrete, continuous = REFERENCE[name]
    d = whole(name)
    assert SAP().score(split(d)).value == pytest.approx(discrete, abs=1e-4)
    assert SAP().score(split(d, continuous=True)).value == pytest.approx(continuous, abs=1e-6)


@pytest.mark.parametrize("balanced", [False, True])
def test_the_engine_may_be_scikit_learn(balanced, grid, noise):
    codes = grid + 0.5 * noise
    ours, theirs = (sap(codes, grid, balanced_accuracy=balanced, engine=e) for e in ("hatchel", "sklearn"))
    assert theirs.matrix == pytest.approx(ours.matrix, abs=2e-3)
    assert theirs.value == pytest.approx(ours.value, abs=1e-3)


def test_a_factor_held_twice_has_no_gap(grid):
    score = sap(grid[:, [0, 0, 1, 2]] + 0.0, grid, names=["a", "b", "c"], continuous=True)
    assert score.parts == pytest.approx({"a": 0, "b": 1, "c": 1}, abs=2e-3)


def test_squared_correlation_of_a_known_mixture():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60_000, 1))
    codes = np.c_[values[:, 0] + rng.normal(size=60_000), values[:, 0] + 2 * rng.normal(size=60_000)]
    score = sap(codes, values)
    assert score.matrix[:, 0] == pytest.approx([1 / 2, 1 / 5], abs=0.03)
    assert score.value == pytest.approx(0.3, abs=0.05)


def test_a_continuous_mask_is_per_factor(grid):
    mixed = sap(grid + 0.0, grid, continuous=[True, False, False])
    assert mixed.parts["factor_0"] == pytest.approx(1, abs=1e-3)
    assert mixed.parts["factor_1"] == sap(grid + 0.0, grid).parts["factor_1"]


def test_squared_correlation_of_ordered_factors_by_hand():
    """v = (0, 1, 2, 3): with 2v R² = 1; with (0, 0, 1, 1), cov² / (var var) = 0.5² / (0.25 * 1.25) = 0.8."""
    values = np.tile([[0], [1], [2], [3]], (30, 1))
    codes = np.c_[2 * values, np.tile([0, 0, 1, 1], 30)] + 0.0
    rows = np.arange(120)
    options = {"by": "r2", "train": rows[:60], "test": rows[60:]}
    score = sap(codes, values, **options)
    assert score.matrix[:, 0] == pytest.approx([1, 0.8])
    assert score.value == pytest.approx(0.2)
    assert score.name == "sap(by=r2)"
    assert SAP().digest() == SAP(by="accuracy").digest() != SAP(by="r2").digest()
    # As squares, of which the mean is 3.5 and the variance 12.25: cov(2v, v²) = 7.5, cov of the steps 1.5.
    squares = Probe(codes, values, ordered=values**2.0, train=rows[:60], test=rows[60:])
    expected = [7.5**2 / (5 * 12.25), 1.5**2 / (0.25 * 12.25)]
    assert SAP(by="r2").score(squares).matrix[:, 0] == pytest.approx(expected)


def test_classes_without_an_order_keep_their_accuracy(grid):
    mixed = sap(grid + 0.0, grid, by="r2", ordered=[True, False, True])
    assert mixed.parts["factor_0"] == pytest.approx(1, abs=1e-3)
    assert mixed.parts["factor_1"] == sap(grid + 0.0, grid).parts["factor_1"]
    with pytest.raises(HatchelError, match="ordered: 2 entries for 3 factors"):
        sap(grid + 0.0, grid, by="r2", ordered=[True, False])


def test_balanced_accuracy_of_a_useless_latent_is_one_over_the_classes():
    rng = np.random.default_rng(0)
    labels = (rng.random((3000, 1)) < 0.1).astype(int)
    codes = np.c_[labels, np.zeros(3000)] + 0.0
    assert sap(codes, labels, balanced_accuracy=True).matrix[:, 0] == pytest.approx([1, 0.5])


def test_dead_dimensions_and_constant_factors_are_reported(grid, noise):
    codes = np.c_[grid + 0.1 * noise, np.full(len(grid), 3.0)]
    score = sap(codes, np.c_[grid, np.zeros(len(grid))])
    assert score.notes == ("dead dimensions: z3", "constant factors, left out: factor_3")
    assert np.isnan(score.matrix[:, 3]).all()
    assert score.value == pytest.approx(sap(codes, grid).value)


def test_order_and_seed(grid, noise):
    codes = grid + 0.3 * noise
    first = sap(codes, grid)
    assert sap(codes[:, [2, 0, 1]], grid).value == first.value == sap(codes, grid, seed=5).value
    assert sap(noise, grid).value < 0.05


def test_codes_that_are_not_numbers(grid, noise):
    bad = noise.copy()
    bad[3, 1] = np.nan
    with pytest.raises(HatchelError, match="row 3, column 1"):
        sap(bad, grid)


def test_dimensions_in_blocks_score_as_all_at_once(monkeypatch, grid, noise):
    codes = grid + noise
    whole = sap(codes, grid).matrix
    monkeypatch.setattr("hatchel.metrics._sap.DIMENSIONS", 2)
    assert sap(codes, grid).matrix == pytest.approx(whole, abs=1e-9)
