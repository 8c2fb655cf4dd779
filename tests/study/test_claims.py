from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind, ttest_rel

from hatchel.core.errors import HatchelError
from hatchel.study.claims import (
    Claim,
    Test,
    Verdict,
    best,
    each,
    higher,
    inside,
    lower,
    near,
    of_each,
    outcome,
    per_seed,
    verdicts,
)
from hatchel.study.statistics import Mean, holm
from hatchel.study.store import combined
from tests.study.made import both, rows, seeds

SEEN = {"low": [0.10, 0.30, 0.20, 0.15, 0.25], "high": [0.15, 0.36, 0.24, 0.20, 0.31]}
FRAME = both(
    rows({"method": "low"}, mig=SEEN["low"], limit=[v + 0.1 for v in SEEN["low"]]),
    rows({"method": "high"}, mig=SEEN["high"]),
    rows({"method": "mixed"}, mig=[0.05, 0.40, 0.21, 0.16, 0.22]),
    rows({"method": "few"}, mig=[0.9, 0.91, 0.92]),
    rows({"method": "one"}, mig=[5.0]),
)
LOW, HIGH, MIXED, FEW, ONE = ({"method": m} for m in ("low", "high", "mixed", "few", "one"))
NEVER = {"method": "never"}


def decided(test: Test, frame: pd.DataFrame = FRAME) -> Verdict:
    (found,) = verdicts([(Claim("A paper 2020", "X1", "Fig. 1", "It is so.", test), frame)])
    return found


@pytest.mark.parametrize(("first", "second", "above"), [(HIGH, LOW, True), (LOW, HIGH, False), (MIXED, LOW, None)])
def test_higher_and_lower_are_decided_by_the_paired_difference(first, second, above):
    # Seeds differ far more than the methods: only pairs can tell.
    assert decided(higher("mig", first, second)).holds is above
    assert decided(lower("mig", first, second)).holds is (None if above is None else not above)
    wanted = ttest_rel(*(FRAME[(FRAME.method == w["method"]) & (FRAME.metric == "mig")].value for w in (first, second)))
    assert decided(higher("mig", first, second)).p == pytest.approx(wanted.pvalue)


def test_evidence_has_means_difference_and_p():
    found = decided(higher("mig", HIGH, LOW))
    difference = Mean.of(np.subtract(SEEN["high"], SEEN["low"]).tolist()).estimate().format(3)
    own, other = (Mean.of(SEEN[m]).estimate().format(3) for m in ("high", "low"))
    wanted = f"{own} against {other}; difference {difference} over 5 seeds; p = {found.p:.2g}, "
    assert found.evidence == f"{wanted}{found.p:.2g} among the paper's claims"
    assert (found.word, found.seeds, found.needed) == ("holds", 5, None)
    page = found.to_dict()
    assert (page["id"], page["verdict"], page["parts"][0]["value"]) == ("X1", "holds", pytest.approx(0.052))


def test_margins_and_other_values_of_the_same_rows():
    assert decided(higher("mig", HIGH, LOW, by=0.03)).holds is True
    assert decided(higher("mig", HIGH, LOW, by=0.07)).holds is False
    assert decided(higher("mig", LOW, HIGH, by=-0.07)).holds is True  # not lower by more than that
    assert decided(lower("mig", LOW, HIGH, by=0.07)).holds is False
    assert decided(lower("mig", LOW, LOW, beside="limit")).holds is True


@pytest.mark.parametrize(("within", "holds"), [(0.07, True), (0.055, None), (0.03, False)])
def test_near(within, holds):
    assert decided(near("mig", HIGH, LOW, within=within)).holds is holds  # differences 0.04 to 0.06
    assert decided(near("mig", LOW, HIGH, within=within)).holds is holds


def test_fewer_than_five_seeds_decide_nothing_and_say_what_would():
    found = decided(higher("mig", FEW, LOW))
    assert (found.holds, found.seeds, found.p, found.needed) == (None, 3, 1.0, 5)
    assert found.evidence.endswith("over 3 seeds; 3 seeds, too few to decide; 5 seeds would decide it")
    assert decided(higher("mig", ONE, LOW)).evidence.endswith("against 0.200 [0.102, 0.298]; 1 seed, too few to decide")
    assert decided(inside("mig", FEW, 0.0, 2.0)).holds is None
    missing = decided(higher("mig", HIGH, NEVER))
    assert (missing.word, missing.evidence, missing.holds) == ("not run", "not run", None)
    assert decided(higher("mig", HIGH, LOW), seeds(FRAME)).word == "not run"


def test_an_undecided_claim_says_how_many_seeds_it_needs():
    found = decided(higher("mig", MIXED, LOW))
    wanted = found.parts[0].mean.needed(0.0, np.inf, 0.05)
    assert (found.needed, wanted) == (wanted, found.needed)
    assert found.evidence.endswith(f"{wanted or 'more than 100'} seeds would decide it")


def test_seeds_that_differ_are_compared_unpaired():
    a, b = rows({"method": "a"}, mig=[1, 2, 3, 4, 5.5]), rows({"method": "b"}, mig=[0, 1, 1.5, 2, 1])
    frame = combined([a, b.assign(seed=b["seed"] + 10)])
    found = decided(higher("mig", {"method": "a"}, {"method": "b"}), frame)
    assert found.p == pytest.approx(ttest_ind([1, 2, 3, 4, 5.5], [0, 1, 1.5, 2, 1], equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("values", "limits", "holds"),
    [
        ([0.9, 1.0, 1.1, 1.0, 1.0], (0.85, 1.15), True),
        ([0.4, 0.5, 0.6, 0.5, 0.5], (0.85, 1.15), False),
        ([0.7, 1.0, 1.1, 1.2, 0.9], (0.85, 1.15), None),
        ([0.0] * 5, (-1.0, 0.5), True),
        ([2.0] * 5, (-1.0, 0.5), False),
    ],
)
def test_inside_is_decided_by_the_interval_of_the_mean(values, limits, holds):
    frame = rows({"method": "a"}, v=values)
    assert decided(inside("v", {"method": "a"}, *limits), frame).holds is holds


def test_what_has_no_seeds_is_decided_by_its_number():
    frame = both(rows({"method": "a"}, macs=[3.0]), rows({"method": "b"}, macs=[4.0]))
    test = lower("macs", {"method": "a"}, {"method": "b"}, exact=True)
    assert (decided(test, frame).holds, decided(test, frame).evidence) == (True, "3.000 against 4.000")
    assert decided(higher("macs", {"method": "a"}, {"method": "b"}, exact=True), frame).holds is False


def test_against_several_it_takes_each_of_them():
    assert decided(higher("mig", HIGH, LOW)).holds is True
    none = decided(higher("mig", HIGH, LOW, MIXED))
    assert none.holds is None
    assert none.evidence.startswith("so: low 0.052 [")
    assert "; undecided: mixed 0.044 [" in none.evidence
    # To fail against one of two takes half the level.
    failed = decided(higher("mig", LOW, HIGH, MIXED))
    assert failed.holds is False
    assert failed.p == pytest.approx(2 * decided(higher("mig", LOW, HIGH)).p)
    missing = decided(higher("mig", HIGH, LOW, NEVER))
    assert missing.holds is None
    assert missing.evidence.endswith("not run: never")
    assert decided(higher("mig", LOW, HIGH, NEVER)).holds is False
    assert decided(each({"a": higher("mig", HIGH, LOW), "b": lower("mig", LOW, HIGH)})).holds is True
    assert outcome(higher("mig", HIGH, LOW)(FRAME)) is True


def test_claims_of_a_paper_are_corrected_together():
    tests = {"A": higher("mig", HIGH, LOW), "B": higher("mig", MIXED, LOW), "C": inside("mig", LOW, 0.09)}
    claims = [(Claim("A paper", name, "", "So.", test), FRAME) for name, test in tests.items()]
    alone = [decided(test).p for test in tests.values()]
    found = verdicts(claims)
    assert [v.corrected for v in found] == pytest.approx(holm(alone))
    assert [v.holds for v in found] == [True, None, None]  # 0.026 is 0.052 of the two that are left
    assert decided(tests["C"]).holds is True
    other = [(Claim("Another", "D", "", "So.", tests["C"]), FRAME)]
    assert verdicts([*claims, *other])[3].holds is True


def test_best_is_chosen_by_the_other_seeds():
    frame = both(
        rows({"strength": 1}, mig=[0.9, 0.1, 0.1]),  # best at seed 0, where the others do not know it
        rows({"strength": 2}, mig=[0.3, 0.4, 0.2]),
        rows({"strength": 3}, mig=[0.0, 0.5]),
    )
    # Means of the others: seed 0: .1, .3, .5; seed 1: .5, .25, 0; seed 2: .5, .35 (strength 3 has no seed 2).
    assert per_seed(frame, best("mig", "strength")) == {0: 0.0, 1: 0.1, 2: 0.1}
    # The smallest: .1 of strength 1; 0 of 3; .35 of 2.
    assert per_seed(frame, best("mig", "strength", lower=True)) == {0: 0.9, 1: 0.5, 2: 0.2}


def test_numbers_of_a_seed():
    spread = of_each(lambda part: float(part["value"].max() - part["value"].min()) if len(part) > 1 else None)
    frame = both(rows({"beta": 1}, mig=[0.1, 0.2, 0.3]), rows({"beta": 4}, mig=[0.4, 0.4]))
    assert per_seed(frame, spread) == pytest.approx({0: 0.3, 1: 0.2})
    with pytest.raises(HatchelError, match="mig: several tasks of one seed"):
        per_seed(frame, "mig")


def test_ids_and_papers_are_found_by_a_word():
    claim = Claim("RecurD, Chen et al. 2022", "R2.mig.shapes3d", "", "", higher("mig", HIGH, LOW))
    assert [claim.named(w) for w in ("R2", "r2.mig", "R2.mig.shapes3d", "recurd", "chen", "R", "R20", "mig")] == [
        True, True, True, True, True, False, False, False,
    ]  # fmt: skip
    ids = ["R10", "R2.b", "R2.a", "D1"]
    ordered = sorted((Claim("", name, "", "", claim.test) for name in ids), key=lambda c: c.order)
    assert [c.id for c in ordered] == ["D1", "R2.a", "R2.b", "R10"]


def test_false_decisions_under_the_null_are_at_most_six_percent():
    """Five seeds, methods that do not differ: one claim alone, and any of the eight of a paper."""
    rng, papers, claims = np.random.default_rng(1), 1000, 8
    drawn = rng.normal(size=(papers, claims, 5)) - rng.normal(size=(papers, claims, 5))
    p = np.array([[min(Mean.of(d).p(low=0.0)) for d in paper] for paper in drawn])
    assert (p <= 0.05).mean() <= 0.06
    assert np.mean([min(holm(paper)) <= 0.05 for paper in p]) <= 0.06
