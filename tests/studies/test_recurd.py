"""RecurD's claims on numbers made by hand: is there a reading in which its regulariser helps?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hatchel.studies.common import ERROR, at
from hatchel.studies.pool import SHAPES, pool
from hatchel.studies.recurd import READINGS, readings_table
from hatchel.study.study import Study
from tests.study.made import both, rows

ALONE = np.array([0.10, 0.20, 0.15, 0.30, 0.12])
LESS = np.array([0.03, 0.05, 0.04, 0.06, 0.05])


def readings(**raised: float) -> pd.DataFrame:
    """Five seeds of each: every reading has a MIG that is lower by LESS, but for those that are `raised`."""
    found = []
    for name, labels in READINGS.items():
        mig = ALONE if name == "l2 = 0" else ALONE + raised.get(name.replace(" ", "_"), 0.0) - LESS
        found.append(rows(labels, mig=mig, dci=mig, **{ERROR: 800 - mig}))
    return both(*found)


def verdict(frame: pd.DataFrame, name: str) -> tuple[str, str]:
    (found,) = [v for v in Study.load("recurd").verdicts(frame) if v.claim.id == name]
    return found.word, found.evidence


def test_readings_are_held_against_the_architecture_alone_seed_by_seed() -> None:
    (found,) = readings_table(readings())
    assert [row.labels for row in found.rows] == [(name,) for name in READINGS if name != "l2 = 0"]
    assert [c.name for c in found.columns] == ["mig", "dci", ERROR, ""]
    for row in found.rows:
        mig, _, error, better = row.ours
        assert mig.value == pytest.approx(-LESS.mean())
        assert mig.high == pytest.approx(-LESS.mean() + 2.776445 * LESS.std(ddof=1) / 5**0.5)
        assert error.value == pytest.approx(LESS.mean())
        wins = np.mean(np.greater.outer(ALONE - LESS, ALONE))
        assert better.value == pytest.approx(wins)
    without = readings()
    assert readings_table(without[without["strength"] != 0.0]) == []


def test_a_clear_no_and_a_reading_that_helps() -> None:
    assert verdict(readings(), "R7.readings.mig")[0] == "holds"
    word, evidence = verdict(readings(within_alone=0.2), "R7.readings.mig")
    assert (word, evidence.count("not so: 0.1 within alone -0.154 [")) == ("does not hold", 1)
    assert verdict(readings(within_alone=0.046), "R7.readings.mig")[0] == "undecided"


def test_every_reading_and_the_depths_of_fig_4_are_rows_of_the_pool() -> None:
    rows = {tuple(c.labels.values()) for c in pool("laptop").tasks(1)}
    depths = [at(SHAPES, f"RecurD-{depth}", 0.1) for depth in range(3)]
    assert {tuple(labels.values()) for labels in (*READINGS.values(), *depths)} <= rows
