from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.studies.tc_bound import EPSILONS, Cloud, TCBound
from hatchel.study.cell import Place
from hatchel.study.store import Row


def row(epsilon: float, n: int = 20_000) -> Row:
    record = Cloud(0, epsilon, n).compute(Place(Path("nowhere"), Path("nowhere")))
    return Row({"epsilon": epsilon}, 0, str(epsilon), record.values, record.details, 0.0)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.003])
def test_the_means_follow_the_closed_form(epsilon):
    values = row(epsilon).values
    rho = 1 / np.sqrt(1 + epsilon**2)
    assert values["mean truth"] == pytest.approx(-0.5 * np.log(1 - rho**2), abs=1e-6)
    assert values["mean"] == pytest.approx(values["mean truth"], abs=0.02)
    assert values["sample"] == pytest.approx(values["sample truth"], abs=0.003)


def test_claims_hold_where_they_should_and_fail_where_they_should():
    rows = [row(e) for e in EPSILONS]
    assert [c.holds for c in TCBound().claims(rows)] == [True, True]
    loud = [Row(r.labels, r.seed, r.digest, {**r.values, "sample": 1.0, "mean": 1.0}, {}, 0.0) for r in rows]
    assert [c.holds for c in TCBound().claims(loud)] == [False, False]
    assert TCBound().claims(rows[:1]) == []
