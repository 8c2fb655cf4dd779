import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hatchel.metrics
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Positive
from hatchel.metrics import Metric, Probe, evaluate

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
    probe = Probe(np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3)
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
