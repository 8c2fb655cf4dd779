import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from hatchel.metrics import Explicitness, Probe, explicitness, modularity
from hatchel.metrics._modularity import one_against_rest_auc


def test_two_factors_in_one_dimension(grid):
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    expected = 1 - np.log(3) ** 2 / (2 * np.log(4) ** 2)
    assert modularity(two_in_one, grid).parts == pytest.approx({"z0": expected, "z1": 1})


def test_a_dimension_without_information_counts_zero_or_is_left_out(grid):
    codes = np.c_[grid, np.zeros(len(grid))] + 0.0
    assert modularity(codes, grid).value == pytest.approx(3 / 4)
    assert modularity(codes, grid, empty="left out").value == pytest.approx(1)


def test_all_dead_is_zero_not_nan(grid):
    assert modularity(np.zeros((len(grid), 2)), grid, empty="left out").value == 0


def test_a_constant_factor_does_not_add_a_rival(grid):
    """On purpose not as the reference library, which would divide by K - 1 with the constant one counted."""
    two_in_one = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    assert modularity(two_in_one, np.c_[grid, np.ones(len(grid))]).value == modularity(two_in_one, grid).value


REFERENCE = {
    "dsprites__a_perfect": 0.981777815, "dsprites__b_rotated": 0.985495851, "dsprites__c_disintegrated": 0.994491547,
    "dsprites__d_noise": 0.502198846, "dsprites__e_nonlinear": 0.913003674, "dsprites__f_two_in_one": 0.899833694,
    "shapes3d__a_perfect": 0.999979929, "shapes3d__b_rotated": 0.999988866, "shapes3d__d_noise": 0.502861917,
}  # fmt: skip
"""disentanglement_lib's explicitness_score_test; its two versions differ by up to 3e-5."""


def whole(name):
    """Training and test rows of an oracle case; the copy beside the tests holds no test rows."""
    folder = os.environ.get("HATCHEL_TEST_ORACLES")
    if not folder:
        pytest.skip(f"oracle {name}: set HATCHEL_TEST_ORACLES to the folder that holds it")
    with np.load(Path(folder) / f"{name}.npz") as archive:
        return dict(archive)


@pytest.mark.parametrize("name", REFERENCE)
def test_agreement_with_the_reference(name):
    d = whole(name)
    probe = Probe.split((d["codes_train"], d["factors_train"]), (d["codes_test"], d["factors_test"]))
    assert Explicitness().score(probe).value == pytest.approx(REFERENCE[name], abs=3e-5)


def test_chance_and_certainty(grid, noise):
    assert explicitness(noise, grid).value == pytest.approx(0.5, abs=0.03)
    assert explicitness(noise, grid, chance_at_zero=True).value == pytest.approx(0, abs=0.06)
    assert explicitness(np.eye(5)[grid[:, 2]], grid[:, 2]).value == pytest.approx(1)


def test_scaling_rotating_and_ordering_the_code_change_nothing(grid, noise):
    """A rotation of standardised uncorrelated codes leaves a linear classifier as it was; the penalty is the same."""
    codes = grid + 0.4 * noise
    first = explicitness(codes, grid).value
    assert explicitness(codes[:, [1, 2, 0]] * [3, -1, 0.1] + 5, grid).value == pytest.approx(first, abs=1e-5)


def test_dead_dimensions_and_constant_factors_are_reported(grid, noise):
    codes = grid + 0.4 * noise
    score = explicitness(np.c_[codes, np.ones(len(grid))], np.c_[grid, np.ones(len(grid))])
    assert score.value == pytest.approx(explicitness(codes, grid).value, abs=1e-6)
    assert score.notes == ("dead dimensions: z3", "constant factors, left out: factor_3")


def test_a_value_that_only_test_rows_have_is_nobodys_own():
    factors = np.r_[np.tile([0, 1], 100), [2]][:, None]
    codes = factors + 0.0
    probe = Probe(codes, factors, train=np.arange(150), test=np.arange(150, 201))
    assert Explicitness().score(probe).value == pytest.approx(0.99, abs=0.02)


def test_auc_is_scikit_learns_with_ties():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(500, 4)).round(1), rng.integers(4, size=500)
    areas = one_against_rest_auc(scores, labels)
    assert areas == pytest.approx([roc_auc_score(labels == k, scores[:, k]) for k in range(4)], abs=1e-12)
    pairs = mannwhitneyu(scores[labels == 1, 1], scores[labels != 1, 1]).statistic
    assert areas[1] == pytest.approx(pairs / ((labels == 1).sum() * (labels != 1).sum()))


def test_auc_of_a_class_without_rows_is_not_a_number():
    assert np.isnan(one_against_rest_auc(np.zeros((3, 2)), np.zeros(3, dtype=int))).all()
