from __future__ import annotations

import pytest

from hatchel.study.claims import Claim, every, higher, inside, lower, near
from hatchel.study.statistics import paired_difference
from tests.study.made import rows, seeds

LOW = rows({"method": "low"}, mig=[0.10, 0.30, 0.20], limit=[0.2, 0.4, 0.3])
HIGH = rows({"method": "high"}, mig=[0.15, 0.36, 0.24])
MIXED = rows({"method": "mixed"}, mig=[0.05, 0.40, 0.21])


@pytest.mark.parametrize(
    ("first", "second", "above"), [(HIGH, LOW, True), (LOW, HIGH, False), (MIXED, LOW, None), (LOW, LOW, None)]
)
def test_higher_and_lower_are_decided_by_the_interval_of_the_difference(first, second, above):
    # Seeds differ far more than the methods: only pairs can tell.
    assert higher("It is.", first, second, "mig").holds is above
    assert lower("It is.", first, second, "mig").holds is (None if above is None else not above)


def test_evidence_has_the_paired_difference():
    found = paired_difference([0.15, 0.36, 0.24], [0.10, 0.30, 0.20])
    claim = higher("It is.", HIGH, LOW, "mig")
    ends = f"[{found.low:.3f}, {found.high:.3f}]"
    assert claim.evidence.endswith(f"difference 0.050 {ends} over 3 seeds")
    assert claim.evidence.startswith("0.250 [0.150, 0.360] against 0.200 [0.100, 0.300]; ")


def test_another_value_of_the_same_rows():
    assert lower("Below the limit.", LOW, LOW, "mig", "limit").holds is True
    assert higher("Above the limit.", LOW, LOW, "mig", "limit").holds is False


@pytest.mark.parametrize(("within", "holds"), [(0.07, True), (0.055, None), (0.03, False)])
def test_near(within, holds):
    assert near("Equal.", HIGH, LOW, "mig", "mig", within).holds is holds  # differences 0.04 to 0.06
    assert near("Equal.", LOW, HIGH, "mig", "mig", within).holds is holds


def test_seeds_are_paired_by_number():
    assert higher("It is.", HIGH.iloc[::-1], LOW, "mig").evidence == higher("It is.", HIGH, LOW, "mig").evidence


def test_two_seeds_or_fewer_decide_nothing():
    two = higher("It is.", HIGH, seeds(LOW, 0, 1), "mig")
    assert two.holds is None
    assert two.evidence.endswith("; 2 seeds, too few to decide")
    one = higher("It is.", seeds(HIGH, 0), seeds(LOW, 0), "mig")
    assert one.holds is None
    assert one.evidence == "0.150 against 0.100; 1 seed, too few to decide"
    assert near("Equal.", seeds(HIGH, 0), seeds(LOW, 0), "mig", "mig", 9.0).holds is None
    assert higher("It is.", seeds(HIGH, 0), seeds(LOW, 1, 2), "mig").evidence == "not run"
    assert higher("It is.", seeds(HIGH), LOW, "mig").holds is None


@pytest.mark.parametrize(
    ("values", "limits", "holds"),
    [
        ([0.9, 1.0, 1.1], (0.85, 1.15), True),
        ([0.4, 0.5, 0.6], (0.85, 1.15), False),
        ([0.7, 1.0, 1.1], (0.85, 1.15), None),
        ([0.0, 0.0, 0.0], (0.0, 0.0), True),
        ([1.0, 2.0, 1.0], (0.0, 0.0), False),
        ([0.0, 1.0, 0.0], (0.0, 0.0), None),
        ([1.0, 1.0], (0.0, 2.0), None),
    ],
)
def test_inside_is_decided_by_the_interval_of_the_mean(values, limits, holds):
    claim = inside("It is.", values, *limits)
    assert claim.holds is holds
    assert f"{len(values)} seeds" in claim.evidence


def test_inside_without_cells():
    assert inside("It is.", [], 0, 1).evidence == "not run"
    assert inside("It is.", [0.5], 0, 1).evidence == "0.5; 1 seed, too few to decide"


@pytest.mark.parametrize(
    ("outcomes", "holds"),
    [((True, True), True), ((True, None), None), ((None, False), False), ((True, False), False)],
)
def test_against_several_it_takes_each_of_them(outcomes, holds):
    found = {f"m{i}": Claim("", outcome, f"numbers {i}") for i, outcome in enumerate(outcomes)}
    claim = every("Best.", found)
    assert claim.holds is holds
    partly = every("Best.", {**found, "other": Claim("", None, "not run")})
    assert partly.holds is (None if holds else holds)  # of one that was not run nothing is known
    assert partly.evidence == f"{claim.evidence}; not run: other"
    assert ("not so against m1 (numbers 1)" in claim.evidence) is (outcomes[1] is False)
    assert every("Best.", {"not run": Claim("", None, "not run")}).evidence == "not run"
