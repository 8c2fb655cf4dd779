"""Every metric of the registry, plug-ins included: known codes, invariances, seeds, and no NaN ever."""

import importlib
import inspect
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hatchel.metrics
from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.metrics import Metric, Probe
from hatchel.metrics.metric import NEEDS

METRICS = sorted(Metric.members())
COMPARING = {
    "beta_vae_score", "dci", "dcimig", "factor_vae_score", "infomec", "med", "med_topk", "mig_sup", "modularity"
}  # fmt: skip
"""They compare factors: with one, any code would be perfect."""
every_metric = pytest.mark.parametrize("kind", METRICS)

FITTED = {"dci", "sap", "explicitness", "infomec", "beta_vae_score", "downstream", "udr"}
"""Predictors are fitted: the order of dimensions breaks ties and rounds otherwise."""
DRAWN = {"elbo_terms": 0.3, "rmig": 0.05}
"""From draws: how far they go with the order of dimensions."""
UNIT_BOUND = {"active_units", "elbo_terms", "information_isolation", "beta_vae_score", "sap", "rmig", "reconstruction"}
"""They read codes in the units of the prior, or fit a penalised predictor to them as they are (the reference, too)."""
ABOUT_FACTORS = {
    "beta_vae_score", "dci", "dcimig", "factor_vae_score", "irs", "med", "med_topk", "mig", "mig_sup", "modularity",
    "rmig", "infomec",
}  # fmt: skip
"""Scores from 0 to 1 that perfect codes take close to 1."""


def factor_grid():
    axes = np.meshgrid(range(3), range(4), range(3), indexing="ij")
    return np.tile(np.stack([a.ravel() for a in axes], axis=1), (20, 1))  # (720, 3)


FACTORS = factor_grid()
NOISE = np.random.default_rng(5).normal(size=FACTORS.shape)
ANGLE = np.linalg.qr(np.random.default_rng(6).normal(size=(3, 3)))[0]
CODES = {
    "perfect": FACTORS + 0.05 * NOISE,
    "rotated": (FACTORS - FACTORS.mean(axis=0)) @ ANGLE,
    "duplicated": np.c_[FACTORS, FACTORS[:, 0]] + 0.05 * np.c_[NOISE, NOISE[::-1, 0]],
    "disintegrated": np.c_[np.minimum(FACTORS[:, 1], 1), np.maximum(FACTORS[:, 1], 1), FACTORS[:, [0, 2]]] + 0.0,
    "dead": np.c_[FACTORS + 0.05 * NOISE, np.full(len(FACTORS), 2.5)],
    "noise": NOISE,
    "two_in_one": np.c_[FACTORS[:, 0] * 4 + FACTORS[:, 1], FACTORS[:, 2]] + 0.05 * NOISE[:, :2],
}


def probe_of(codes, factors=FACTORS, **options):
    images = np.clip(codes, 0, 1)
    return Probe(
        codes, factors, std=np.full(codes.shape, 0.1), samples=codes + 0.1, others=[codes @ np.eye(codes.shape[1])],
        features={"layer": codes}, clusters=factors[:, 0], images=(images, images), **options,
    )  # fmt: skip


def make(kind):
    """The metric with its own defaults, but fewer draws where it has such an option."""
    names = Metric.members()[kind].help()
    return Metric.members()[kind](**({"draws": 200} if "draws" in names else {}))


@every_metric
@pytest.mark.parametrize("name", CODES)
def test_known_codes_have_a_finite_score_that_is_json(kind, name):
    score = make(kind).score(probe_of(CODES[name]), 0)
    assert np.isfinite(score.value)
    assert "NaN" not in score.to_json()
    assert json.loads(score.to_json())["n"] > 0


@pytest.mark.parametrize("kind", sorted(ABOUT_FACTORS & set(METRICS)))
def test_perfect_codes_beat_rotated_and_noise(kind):
    perfect, rotated, noise = (make(kind).score(probe_of(CODES[c]), 0).value for c in ("perfect", "rotated", "noise"))
    assert perfect > 0.9
    assert perfect >= rotated
    assert perfect > noise


@every_metric
def test_same_seed_same_score_and_the_global_generator_is_not_read(kind):
    codes = CODES["rotated"]
    np.random.seed(1)  # noqa: NPY002
    first = make(kind).score(probe_of(codes), 3)
    np.random.seed(2)  # noqa: NPY002
    again = make(kind).score(probe_of(codes), 3)
    assert first.value == again.value
    assert first.seed == 3


@every_metric
def test_a_constant_factor_and_a_dead_dimension_are_reported_and_leave_no_nan(kind):
    factors = np.c_[FACTORS, np.full(len(FACTORS), 7)]
    score = make(kind).score(probe_of(CODES["dead"], factors, names=["a", "b", "c", "still"]), 0)
    assert np.isfinite(score.value)
    assert any("dead dimensions: z3" in note for note in score.notes)
    assert any("still" in note for note in score.notes)


@every_metric
def test_the_order_of_dimensions_does_not_matter(kind):
    codes, order = CODES["rotated"] + 0.1 * NOISE, [2, 0, 1]
    a, b = (make(kind).score(probe_of(c), 0) for c in (codes, codes[:, order]))
    if a.interval:  # a density was learned: what the order changes is inside the bar it has without a bootstrap
        assert max(a.interval.low, b.interval.low) < min(a.interval.high, b.interval.high)
    else:
        assert a.value == pytest.approx(b.value, abs=0.04 if kind in FITTED else DRAWN.get(kind, 1e-9))


@pytest.mark.parametrize("kind", sorted(set(METRICS) - UNIT_BOUND))
def test_the_scale_of_codes_does_not_matter(kind):
    codes = CODES["rotated"] + 0.1 * NOISE
    a, b = (make(kind).score(probe_of(c), 0).value for c in (codes, 4 * codes))
    assert a == pytest.approx(b, abs=0.04 if kind in FITTED else 1e-9)


@every_metric
def test_what_is_missing_is_said(kind):
    metric = make(kind)
    assert set(metric.needs) <= set(NEEDS)
    for need in metric.needs:
        probe = probe_of(CODES["perfect"])
        setattr(probe, need, None)
        with pytest.raises(HatchelError, match=f"{kind}: needs") as error:
            metric.score(probe, 0)
        assert NEEDS[need] in str(error.value)


@every_metric
def test_the_spec_goes_to_json_and_back_and_explains_every_option(kind):
    metric = Metric.members()[kind]()
    assert from_dict(Metric, json.loads(json.dumps(to_dict(metric)))) == metric
    assert metric.variant == kind
    assert inspect.getdoc(type(metric))
    assert set(metric.help()) == {k for k in to_dict(metric) if k != "kind"}


@every_metric
def test_the_name_is_a_function_even_after_its_file_was_imported(kind):
    importlib.import_module(Metric.members()[kind].__module__)
    function = getattr(hatchel.metrics, kind)
    assert inspect.isfunction(function)
    assert inspect.signature(function).return_annotation in ("Score", hatchel.metrics.Score)
    assert {"seed", "bootstrap"} <= set(inspect.signature(function).parameters)
    assert kind in dir(hatchel.metrics)


numbers = st.floats(-1e3, 1e3, width=32) | st.sampled_from([0.0, 1.0])
small = st.tuples(
    hnp.arrays(np.float64, st.tuples(st.just(24), st.integers(1, 3)), elements=numbers),
    hnp.arrays(np.int64, (24, 2), elements=st.integers(0, 2)),
)
CHEAP = [k for k in METRICS if k not in FITTED]


@given(small, st.sampled_from(CHEAP))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_array_gives_a_number_or_one_clear_line(arrays, kind):
    codes, factors = arrays
    try:
        score = make(kind).score(probe_of(codes, factors), 0)
    except HatchelError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert np.isfinite(score.value)


def test_with_one_factor_noise_is_not_called_perfect():
    noise, factor = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 3
    found = hatchel.metrics.evaluate(noise, np.c_[factor, np.zeros(300)])
    assert COMPARING.isdisjoint(found)
    for kind in sorted(COMPARING):
        assert found.skipped[kind] == "needs at least 2 factors that vary: with one, there is nothing to tell apart"
        with pytest.raises(HatchelError, match=f"^{kind}: needs at least 2 factors that vary"):
            getattr(hatchel.metrics, kind)(noise, factor)
    assert max(found[kind].value for kind in ("mig", "sap")) < 0.2


def test_of_a_collapsed_code_everything_is_said_that_can_be():
    factors = np.random.default_rng(0).integers(3, size=(300, 2))
    found = hatchel.metrics.evaluate(np.full((300, 4), 0.1), factors, std=np.ones(4))
    nothing = {name: found[name].value for name in ("mig", "sap", "dci", "factor_vae_score", "irs", "infomec", "rmig")}
    assert nothing == dict.fromkeys(nothing, 0.0)
    assert found["explicitness"].value == 0.5
    assert found["active_units"].notes[-1] == "0 of 4 dimensions active: train longer or lower beta"
    assert set(found.skipped) == {"clustering", "reconstruction", "udr"}
