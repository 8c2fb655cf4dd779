"""The functions are derived from the Specs: one definition of every option."""

import dataclasses
import inspect
import json
import pickle

import numpy as np
import pytest

import hatchel.metrics
from hatchel.core.errors import HatchelError
from hatchel.metrics import MIG, Metric, Probe, evaluate
from hatchel.metrics.functions import ARGUMENTS

rng = np.random.default_rng(0)
codes, factors = rng.normal(size=(90, 3)), rng.integers(3, size=(90, 2))
every_metric = pytest.mark.parametrize("kind", sorted(Metric.members()))


@every_metric
def test_signature_and_help_name_every_option_once(kind):
    metric, function = Metric.members()[kind], getattr(hatchel.metrics, kind)
    parameters = inspect.signature(function).parameters
    for field in dataclasses.fields(metric):
        argument = parameters[metric.argument_names.get(field.name, field.name)]
        assert argument.default == field.default
        assert argument.kind is argument.KEYWORD_ONLY
        assert " ".join(metric.help()[field.name].split())[:40] in " ".join(function.__doc__.split())
    for name in parameters:
        assert f"    {name}: " in function.__doc__
        assert name in ARGUMENTS or parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert function.__doc__.startswith(metric.__doc__.splitlines()[0])
    assert f">>> from hatchel.metrics import {kind}" in function.__doc__


def test_what_a_metric_needs_comes_by_position():
    def required(name):
        parameters = inspect.signature(getattr(hatchel.metrics, name)).parameters.values()
        return [p.name for p in parameters if p.default is p.empty]

    assert required("mig") == ["codes", "factors"]
    assert required("rmig") == ["codes", "factors", "std"]
    assert required("elbo_terms") == ["codes", "std"]
    assert required("udr") == ["codes", "others"]
    assert required("active_units") == ["codes"]
    assert required("clustering") == ["clusters", "factors"]
    assert required("reconstruction") == ["images", "reconstructions"]


def test_only_metrics_that_fit_take_a_split_and_only_those_with_factors_their_names():
    parameters = {k: set(inspect.signature(getattr(hatchel.metrics, k)).parameters) for k in Metric.members()}
    assert {k for k, p in parameters.items() if "train" in p} == {"dci", "downstream", "explicitness", "infomec", "sap"}
    assert "names" not in parameters["gaussian_tc"]
    assert {"names", "continuous"} <= parameters["mig"]


def test_options_reach_the_spec_and_the_score_is_that_of_the_spec():
    score = hatchel.metrics.mig(codes, factors, bins=7, subset=["a"], names=["a", "b"], seed=2, bootstrap=5)
    spec = hatchel.metrics.MIG(bins=7, factors=("a",)).score(Probe(codes, factors, names=["a", "b"]), 2, 5)
    assert score.to_dict() == spec.to_dict()
    noise = np.eye(3)
    assert hatchel.metrics.elbo_terms(codes, np.ones(3), noise=noise, draws=50).settings["draws"] == 50


def test_mistakes_are_those_of_any_function_and_of_the_spec():
    with pytest.raises(TypeError, match=r"mig\(\) missing a required argument: 'factors'"):
        hatchel.metrics.mig(codes)
    with pytest.raises(TypeError, match=r"mig\(\) got an unexpected keyword argument 'bin'"):
        hatchel.metrics.mig(codes, factors, bin=3)
    with pytest.raises(HatchelError, match="bins: input should be greater than 0, got 0"):
        hatchel.metrics.mig(codes, factors, bins=0)


def test_a_function_is_one_object_and_can_be_pickled():
    assert hatchel.metrics.mig is hatchel.metrics.mig
    assert pickle.loads(pickle.dumps(hatchel.metrics.mig)) is hatchel.metrics.mig


def test_a_metric_of_ones_own_has_a_function_too():
    class Reach(Metric):
        """How far codes reach."""

        needs = ()
        power: float = 1.0
        "Exponent."

        def measure(self, probe, rng):
            return self.result(probe, float((np.abs(probe.codes) ** self.power).mean()))

    try:
        assert float(hatchel.metrics.reach(np.full((4, 2), 3.0), power=2)) == 9
    finally:
        del Metric._members["reach"]


def test_arrays_may_come_by_keyword():
    images = rng.random((4, 3))
    by_position = hatchel.metrics.reconstruction(images, images)
    assert hatchel.metrics.reconstruction(reconstructions=images, images=images).value == by_position.value
    assert float(hatchel.metrics.clustering(factors=[0, 0, 1, 1], clusters=[5, 5, 2, 2])) == 1


def test_what_cannot_be_computed_is_listed_with_its_reason(grid, noise):
    scores = evaluate(noise, grid, which=["mig", "rmig", "udr"])
    assert list(scores) == ["mig"]
    assert scores.skipped == {
        "rmig": "needs the standard deviations of q(z|x)",
        "udr": "needs codes of other models for the same rows",
    }
    assert "rmig  not measured: needs the standard deviations" in scores.table()
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
