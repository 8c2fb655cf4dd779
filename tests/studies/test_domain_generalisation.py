"""Averages over the angles, by hand."""

from __future__ import annotations

import pytest

from hatchel.studies.recurd_digits import SHARES, accuracy, mean_over_angles, over_angles
from hatchel.study.claims import per_seed
from hatchel.study.frame import select, values
from tests.study.made import both, rows, seeds

BASES = {"RecurD": 0.5, "beta-VAE": 0.2}
ROWS = both(*(
    rows(
        {"method": method, "angle": angle},
        **{accuracy(s): [base + angle / 1000 + seed / 100 + s / 10 for seed in range(3)] for s in SHARES},
    )
    for method, base in BASES.items()
    for angle in (0, 75)
))  # fmt: skip


def test_the_mean_over_angles_by_seed() -> None:
    found = over_angles(ROWS)
    second = seeds(select(found, method="RecurD"), 1)
    assert values(second, accuracy(0.2)) == pytest.approx([0.51 + 0.02 + 0.0375])
    assert values(second, "angle 75") == pytest.approx([0.51 + 0.1 + 0.075])
    assert len(found[["method", "seed"]].drop_duplicates()) == 6


def test_a_seed_with_an_angle_missing_has_no_mean() -> None:
    gone = (ROWS["seed"] == 2) & (ROWS["angle"] == 75) & (ROWS["method"] == "RecurD")
    last = seeds(select(over_angles(ROWS[~gone]), method="RecurD"), 2)
    assert set(last["metric"]) == {"angle 0"}
    assert set(per_seed(select(ROWS[~gone], method="RecurD"), mean_over_angles(0.2))) == {0, 1}


def test_claims_are_about_the_mean_over_angles() -> None:
    found = per_seed(select(ROWS, method="RecurD"), mean_over_angles(0.2))
    assert found == pytest.approx({seed: 0.5 + 0.0375 + seed / 100 + 0.02 for seed in range(3)})
