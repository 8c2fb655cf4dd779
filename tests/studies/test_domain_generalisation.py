"""Averages over the angles, by hand."""

from __future__ import annotations

import pytest

from hatchel.studies.domain_generalisation import DomainGeneralisation, over_angles
from hatchel.study.cells.classified import SHARES, accuracy
from hatchel.study.store import Row


def row(method: str, angle: int, seed: int, base: float) -> Row:
    values = {accuracy(s): base + s / 10 for s in SHARES}
    return Row({"method": method, "angle": angle}, seed, f"{method}{angle}{seed}", values, {}, 1.0)


ROWS = [row("RecurD", a, s, 0.5 + a / 1000 + s / 100) for s in range(3) for a in (0, 75)]
ROWS += [row("beta-VAE", a, s, 0.2 + a / 1000 + s / 100) for s in range(3) for a in (0, 75)]


def test_the_mean_over_angles_by_seed() -> None:
    found = {(r.labels["method"], r.seed): r.values for r in over_angles(ROWS)}
    assert found["RecurD", 1][accuracy(0.2)] == pytest.approx(0.51 + 0.02 + 0.0375)
    assert found["RecurD", 1]["angle 75"] == pytest.approx(0.51 + 0.1 + 0.075)
    assert len(found) == 6


def test_a_seed_with_an_angle_missing_has_no_mean() -> None:
    kept = [r for r in ROWS if not (r.seed == 2 and r.labels["angle"] == 75 and r.labels["method"] == "RecurD")]
    (last,) = [r for r in over_angles(kept) if r.seed == 2 and r.labels["method"] == "RecurD"]
    assert set(last.values) == {"angle 0"}
    assert [c.holds for c in DomainGeneralisation().claims(kept)] == [None, None]  # two seeds are too few


def test_claims_are_about_the_mean_over_angles() -> None:
    claims = DomainGeneralisation().claims(ROWS)
    assert [c.holds for c in claims] == [True, True]
    assert "difference 0.300" in claims[0].evidence
