from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hatchel.metrics.statistics import probability_of_improvement
from hatchel.study.contrast import agreement, differences, joined, probability, wins
from hatchel.study.table import Column
from tests.study.made import rows

PLAIN = rows({"method": "plain"}, mig=[0.1, 0.2, 0.6], reconstruction=[5.0, 6.0, 7.0])
NEW = rows({"method": "new"}, mig=[0.2, 0.3, 0.7], reconstruction=[5.5, 5.5, 9.0])
ONCE = rows({"method": "once"}, mig=[0.9])
COLUMNS = (Column("mig", "MIG", {("plain",): 0.5}), Column("reconstruction", "error", digits=1), Column("no", "never"))


def numbers(figure) -> list[list[str]]:
    texts = [t.get_text() for t in figure.axes[0].texts]
    side = len(figure.axes[0].get_yticklabels())
    return [texts[i : i + side - 1] for i in range(0, len(texts), side - 1)]  # the diagonal is empty


def test_each_method_less_the_first_seed_by_seed():
    table = differences([*PLAIN, *NEW, *ONCE], "method", COLUMNS, "mig")
    assert table is not None
    assert table.title == "Difference from plain, paired over seeds"
    assert table.headings == ["method", "MIG", "error", "P(better MIG)", "seeds"]  # nothing of the paper's
    # 0.1 at every seed: no interval. Of nine pairs of runs 0.2 = 0.2 is half a win: 1 + .5, 2, 3 of 3.
    found = probability_of_improvement([0.2, 0.3, 0.7], [0.1, 0.2, 0.6])
    assert found.value == pytest.approx(6.5 / 9)
    better = f"{found.value:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]"
    assert table.cells() == [["new", "0.100", "0.7 [-0.5, 2.0]", better, "3"]]


def test_a_method_is_held_against_the_first_with_the_same_other_labels():
    pairs = [
        *rows({"method": "a", "encoder": "plain"}, mig=[1.0, 2.0]),
        *rows({"method": "a", "encoder": "split"}, mig=[2.0, 4.0]),
        *rows({"method": "b", "encoder": "plain"}, mig=[5.0, 5.0]),
        *rows({"method": "b", "encoder": "split"}, mig=[4.0, 4.0]),
    ]
    table = differences(pairs, "encoder", COLUMNS, "mig")
    assert table is not None
    assert [(line.labels, line.ours[0].value) for line in table.lines if line.ours[0]] == [
        (("a", "split"), 1.5),
        (("b", "split"), -1.0),
    ]


def test_one_shared_seed_is_no_difference():
    assert differences([*PLAIN[:1], *NEW], "method", COLUMNS, "mig") is None


def test_of_an_error_the_lower_is_better():
    found = probability(NEW, PLAIN, "reconstruction")
    assert found is not None
    assert found.value == pytest.approx((2 + 2 + 0) / 9)  # 5.5 is below 6 and 7, 9 below nothing
    assert probability(ONCE, PLAIN, "mig") is None


def test_wins_are_drawn_within_a_data_set():
    third = rows({"method": "third"}, mig=[0.0, 0.0])
    drawn = wins([*PLAIN, *NEW, *third, *ONCE], "mig", "MIG")
    assert list(drawn) == ["Probability of a better MIG, line against column"]
    (figure,) = drawn.values()
    assert numbers(figure) == [["0.28", "1.00"], ["0.72", "1.00"], ["0.00", "0.00"]]
    all_three = [*PLAIN, *NEW, *third]
    two = [replace(row, labels={"data": data, **row.labels}) for data in "xy" for row in all_three]
    assert [name[-3:] for name in wins(two, "mig", "MIG")] == [", x", ", y"]
    assert wins([*PLAIN, *NEW], "mig", "MIG") == {}


def test_scores_that_rank_alike_and_the_other_way_round():
    runs = rows({"method": "a"}, mig=[1, 2, 3, 4, 5, 6], dci=[1, 4, 9, 16, 25, 36], reconstruction=[6, 5, 4, 3, 2, 1])
    drawn = agreement(runs, {"mig": "MIG", "dci": "DCI", "reconstruction": "error", "no": "never"})
    assert list(drawn) == ["Rank correlation of the scores over 6 runs"]
    (figure,) = drawn.values()
    assert numbers(figure) == [["1.00", "-1.00"], ["1.00", "-1.00"], ["-1.00", "-1.00"]]
    shade = figure.axes[0].collections[0].get_array()[..., 3]
    assert np.allclose(shade, 1 - np.eye(3))  # as strong, whatever the sign
    runs[0] = replace(runs[0], values={**runs[0].values, "no": 1.0})  # one run alone has it: left out
    assert list(agreement(runs, {"mig": "MIG", "dci": "DCI", "reconstruction": "error", "no": "rare"})) == list(drawn)
    assert agreement(runs[:5], {"mig": "MIG", "dci": "DCI", "reconstruction": "error"}) == {}


def test_labels_in_one():
    assert joined(rows({"method": "a", "beta": 0.5}, mig=[1.0])[0]) == "a · 0.5"
