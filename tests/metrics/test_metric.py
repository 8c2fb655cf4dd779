import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hatchel.metrics
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Positive
from hatchel.metrics import DCI, MIG, SAP, GaussianTC, Metric, Probe, evaluate, mig
from hatchel.metrics.metric import Bootstrap, Subsampling, percentile_interval

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_importing_the_room_loads_nothing_heavy():
    heavy = "{'torch', 'sklearn', 'pandas', 'matplotlib', 'pydantic', 'scipy'}"
    code = f"import sys, hatchel.metrics; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_counting_metrics_do_not_load_torch_or_scikit_learn():
    code = (
        "import sys, numpy as np; from hatchel.metrics import mig; v = np.arange(90) % 3; mig(v[:, None], v)\n"
        "assert not {'torch', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_attribute_errors_and_specs_are_found_by_class_name():
    with pytest.raises(AttributeError, match="no attribute 'mgi'"):
        _ = hatchel.metrics.mgi
    assert hatchel.metrics.FactorVAEScore is Metric.members()["factor_vae_score"]
    with pytest.raises(ImportError):
        from hatchel.metrics import Nothing  # noqa: F401


def test_a_metric_of_ones_own_is_one_class_and_evaluate_knows_it():
    class Reach(Metric):
        """How far codes reach."""

        needs = ()
        power: Positive = 1.0
        "Exponent."

        def measure(self, probe, rng):
            return self.result(probe, float((np.abs(probe.codes) ** self.power).mean()))

    try:
        scores = evaluate(np.full((4, 2), 3.0), which=["reach", Reach(power=2)])
        assert {name: s.value for name, s in scores.items()} == {"reach": 3, "reach(power=2.0)": 9}
        assert scores["reach"].settings == {"power": 1.0}
    finally:
        del Metric._members["reach"]


@pytest.mark.parametrize("kind", sorted(Metric.members()))
def test_the_documentation_has_a_row_for_every_metric(kind):
    assert f"| `{kind}` |" in DOCS.read_text()


def test_a_generator_may_stand_for_the_seed():
    probe = Probe(np.random.default_rng(0).normal(size=(60, 2)), np.c_[np.arange(60) % 3, np.arange(60) % 2])
    metric = Metric.members()["factor_vae_score"]()
    drawn, seeded = metric.score(probe, np.random.default_rng(5)), metric.score(probe, 5)
    assert drawn.value == seeded.value
    assert (drawn.seed, seeded.seed) == (None, 5)


def test_needs_of_an_option_are_said():
    probe = Probe(np.zeros((4, 1)), [0, 1, 0, 1])
    metric = Metric.members()["jemmig"](estimator="aggregate")
    assert metric.missing(probe) == "the standard deviations of q(z|x)"
    with pytest.raises(HatchelError, match="jemmig: needs the standard deviations"):
        metric.score(probe)


rng = np.random.default_rng(0)
codes, factors = rng.normal(size=(300, 3)), rng.integers(3, size=(300, 2))


def test_the_interval_contains_the_value_although_resampling_biases_information_upwards():
    score = mig(codes, factors, bootstrap=60)
    assert score.interval.low <= score.value <= score.interval.high
    assert percentile_interval(1.0, np.full(9, 2.0), n=50).low == 1.0


def test_the_bootstrap_interval_covers_what_fresh_samples_give():
    """200 fresh data sets of one distribution: the 95 % interval of one should be about as wide as their spread."""
    random = np.random.default_rng(1)

    def draw():
        v = random.integers(4, size=(400, 1))
        return mig(v + random.normal(scale=0.5, size=(400, 1)), v, bins=5, bootstrap=0).value

    fresh = np.array([draw() for _ in range(200)])
    v = random.integers(4, size=(400, 1))
    interval = mig(v + random.normal(scale=0.5, size=(400, 1)), v, bins=5, bootstrap=200).interval
    width, expected = interval.high - interval.low, 2 * 1.96 * fresh.std()
    assert 0.6 < width / expected < 1.6


def test_subsamples_give_the_width_of_the_bootstrap():
    """A mean of squares: deviations of subsamples of 1,000 of 6,000 rows are scaled to those of 6,000 rows."""
    probe = Probe(np.random.default_rng(2).normal(size=(6000, 1)))
    widths = [
        np.ptp(np.percentile(how.draws(lambda p: float((p.codes**2).mean()), probe, np.random.default_rng(0), 300), q))
        for how, q in ((Bootstrap(), [2.5, 97.5]), (Subsampling(rows=1000), [2.5, 97.5]))
    ]
    assert widths[1] / widths[0] == pytest.approx(1, abs=0.2)


def test_few_rows_are_resampled_where_subsamples_would_be_most_of_them():
    probe, how = Probe(codes), Subsampling(rows=200)
    sizes = []
    how.draws(lambda p: sizes.append(p.n) or 0.0, probe, np.random.default_rng(0), 2)
    Subsampling(rows=100).draws(lambda p: sizes.append(p.n) or 0.0, probe, np.random.default_rng(0), 2)
    assert sizes == [300, 300, 100, 100]
    assert (how.describe(300), how.describe(400)) == ("resamples", "subsamples of 200")


def test_a_slow_metric_limits_its_replicates_and_the_score_says_how_many():
    probe = Probe(codes, factors)
    assert SAP().score(probe, 0, 50).replicates == SAP.interval.most == 20
    assert MIG().score(probe, 0, 50).replicates == 50
    assert MIG().score(probe, 0, None).replicates == 200
    assert GaussianTC().score(probe).interval is None
    assert DCI.interval == Subsampling(most=8, rows=1500)


def test_a_metric_may_have_no_interval():
    class Still(Metric):
        """Always 1."""

        needs = ()
        interval = None

        def measure(self, probe, rng):
            return self.result(probe, 1.0)

    try:
        score = Still().score(Probe(codes), 0, 20)
        assert (score.interval, score.replicates) == (None, 0)
    finally:
        del Metric._members["still"]


def test_same_seed_same_interval():
    probe = Probe(codes, factors)
    first, again, other = (GaussianTC().score(probe, seed, 20).interval for seed in (0, 0, 1))
    assert first == again != other
