from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hatchel.studies.tc_bound import EPSILONS, Cloud, largest, rate
from hatchel.study.frame import build
from hatchel.study.store import combined
from hatchel.study.study import Study
from hatchel.study.task import Workspace


def values(epsilon: float) -> dict[str, float]:
    return dict(Cloud(0, epsilon, 20_000).compute(Workspace(Path("nowhere"), Path("nowhere"))).values)


def frame(epsilon: float, **changes: float) -> pd.DataFrame:
    return build([({"epsilon": epsilon}, 0, {"digest": str(epsilon), "values": {**values(epsilon), **changes}})])


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.003])
def test_the_means_follow_the_closed_form(epsilon):
    found = values(epsilon)
    rho = 1 / np.sqrt(1 + epsilon**2)
    assert found["mean truth"] == pytest.approx(-0.5 * np.log(1 - rho**2), abs=1e-6)
    assert found["mean"] == pytest.approx(found["mean truth"], abs=0.02)
    assert found["sample"] == pytest.approx(found["sample truth"], abs=0.003)


def test_claims_hold_where_they_should_and_fail_where_they_should():
    found = combined([frame(e) for e in EPSILONS])
    study = Study.load("tc-bound")
    five = combined([found.assign(seed=s, value=found["value"] + s * 1e-6) for s in range(5)])
    assert [v.holds for v in study.verdicts(five)] == [True, True]
    loud = five.assign(value=1.0 + five["seed"] * 1e-6)
    assert [v.holds for v in study.verdicts(loud)] == [False, False]
    assert rate(found) == pytest.approx(1, abs=0.02)
    assert largest(found) == max(values(e)["sample"] for e in EPSILONS)
    assert rate(frame(EPSILONS[0])) is None
