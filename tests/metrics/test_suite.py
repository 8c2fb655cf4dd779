import json

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import MIG, evaluate


def test_what_cannot_be_computed_is_listed_with_its_reason(grid, noise):
    scores = evaluate(noise, grid, which=["mig", "rmig", "udr"])
    assert list(scores) == ["mig"]
    assert scores.skipped == {
        "rmig": "needs the standard deviations of q(z|x)",
        "udr": "needs codes of other models for the same rows",
    }
    assert "rmig  needs the standard deviations" in scores.table()
    assert json.loads(scores.to_json())["skipped"]["udr"].startswith("needs")


def test_a_score_does_not_depend_on_which_others_are_asked_for(grid, noise):
    codes = noise + grid
    together = evaluate(codes, grid, "mig,factor_vae_score,downstream,irs", seed=4, bootstrap=5)
    for name in together:
        alone = evaluate(codes, grid, name, seed=4, bootstrap=5)[name]
        assert (alone.value, alone.interval) == (together[name].value, together[name].interval)


def test_specs_and_variants_stand_side_by_side(grid, noise):
    scores = evaluate(noise, grid, [MIG(), MIG(bins=5), MIG(factors=("a",))], names=["a", "b", "c"])
    assert list(scores) == ["mig", "mig(bins=5)", "mig(factors=['a'])"]


def test_without_factors_only_what_needs_none():
    scores = evaluate(np.random.default_rng(0).normal(size=(90, 2)), which=["gaussian_tc", "mig"])
    assert list(scores) == ["gaussian_tc"]
    assert scores.skipped == {"mig": "needs the factors of every row"}


def test_a_misspelt_metric_is_an_error_with_a_near_match(grid, noise):
    with pytest.raises(HatchelError, match=r"unknown metric 'modularty'. Did you mean 'modularity'"):
        evaluate(noise, grid, "mig,modularty")


def test_pandas_has_one_row_a_score(grid, noise):
    frame = evaluate(noise, grid, "mig,med", bootstrap=3).to_pandas()
    assert list(frame.index) == ["mig", "med"]
    assert (frame["low"] <= frame["value"]).all()


def test_real_data_without_a_grid_says_which_metrics_need_one():
    rng = np.random.default_rng(0)
    factors = np.c_[np.arange(400) // 2 * 1.0, rng.integers(3, size=400)]
    factors[:, 0] = rng.permutation(400) // 1.5 // 1
    scores = evaluate(rng.normal(size=(400, 3)), factors, "mig,irs,factor_vae_score", continuous=False)
    assert list(scores) == ["mig"]
    assert all("factor grid" in reason for reason in scores.skipped.values())
