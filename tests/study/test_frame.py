from __future__ import annotations

import pytest

from hatchel.study.frame import build, estimate, groups, labels_of, select, values, wide, with_value
from hatchel.study.statistics import over_seeds
from tests.study.made import both, rows, seeds

A = rows({"method": "a", "D": 10}, mig=[0.2, 0.3, 0.5])
B = rows({"method": "b", "D": 10}, mig=[0.1], sap=[0.7])


def test_one_row_for_each_value_with_its_labels_and_the_parts_of_its_name():
    record = {"digest": "d", "values": {"mig": 0.5, "dci.completeness@sample": 0.25}, "details": {"x": 1}, "seconds": 2}
    frame = build([({"method": "a", "seed": "label"}, 3, record)], "mine", "laptop")
    assert frame[["study", "scale", "task", "seed", "method", "label.seed"]].drop_duplicates().values.tolist() == [
        ["mine", "laptop", "d", 3, "a", "label"]
    ]
    assert frame[["name", "metric", "part", "representation", "value"]].values.tolist() == [
        ["mig", "mig", "", "mean", 0.5],
        ["dci.completeness@sample", "dci", "completeness", "sample", 0.25],
    ]
    assert labels_of(frame) == ["method", "seed"]
    assert select(frame, seed="label")["details"].iloc[0] == {"x": 1}


def test_intervals_of_a_record_are_in_the_frame():
    record = {"digest": "d", "values": {"mig": 0.5}, "intervals": {"mig": [0.4, 0.6, 100]}}
    frame = build([({}, 0, record)])
    assert frame[["low", "high", "n"]].values.tolist() == [[0.4, 0.6, 100]]


def test_the_estimate_is_the_mean_over_seeds_with_its_interval():
    found = estimate(A, "mig")
    assert found == over_seeds([0.2, 0.3, 0.5])
    assert found is not None
    assert found.value == pytest.approx(1 / 3)
    assert found.n == 3


def test_one_seed_has_no_interval_and_nothing_measured_is_none():
    found = estimate(B, "sap")
    assert found is not None
    assert (found.value, found.has_interval, found.n) == (0.7, False, 1)
    assert estimate(A, "sap") is None
    assert estimate(seeds(A), "mig") is None


def test_tasks_without_the_value_do_not_count():
    found = estimate(both(A, B), "sap")
    assert found is not None
    assert found.n == 1


def test_groups_keep_the_order_and_select_wants_every_label():
    frame = both(B, A)
    assert list(groups(frame, "method")) == [("b",), ("a",)]
    assert groups(frame, "method", "D")["a", 10]["value"].tolist() == [0.2, 0.3, 0.5]
    assert list(groups(A, "nothing")) == [("",)]
    assert select(frame, method="b", D=10)["name"].tolist() == ["mig", "sap"]
    assert len(select(frame, method="b", D=20)) == 0
    assert type(next(iter(groups(frame, "D")))[0]) is int  # a label stays Python's own


def test_values_are_by_seed():
    assert values(A.iloc[::-1], "mig") == [0.2, 0.3, 0.5]
    assert values(A, "nothing") == []


def test_wide_has_a_row_for_each_task():
    found = wide(both(A, B), ("mig", "sap"))
    assert found["mig"].tolist() == [0.2, 0.3, 0.5, 0.1]
    assert found["sap"].isna().tolist() == [True, True, True, False]
    doubled = with_value(A, "twice", lambda row: 2 * row["mig"], ["mig"])
    assert values(doubled, "twice") == [0.4, 0.6, 1.0]
    assert values(doubled, "mig") == [0.2, 0.3, 0.5]
