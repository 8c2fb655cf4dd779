from __future__ import annotations

import pytest

from hatchel.metrics.statistics import over_seeds
from hatchel.study.rows import column, groups, measured, where
from hatchel.study.store import Row
from tests.study.made import rows

A = rows({"method": "a", "D": 10}, mig=[0.2, 0.3, 0.5])
B = rows({"method": "b", "D": 10}, mig=[0.1], sap=[0.7])


def test_measured_is_the_mean_over_seeds_with_its_interval():
    found, wanted = measured(A, "mig"), over_seeds([0.2, 0.3, 0.5])
    assert found is not None
    assert (found.value, found.low, found.high) == (wanted.value, wanted.interval.low, wanted.interval.high)
    assert found.value == pytest.approx(1 / 3)
    assert found.seeds == 3


def test_one_seed_has_no_interval_and_nothing_measured_is_none():
    found = measured(B, "sap")
    assert found is not None
    assert (found.value, found.low, found.high, found.seeds) == (0.7, None, None, 1)
    assert measured(A, "sap") is None
    assert measured([], "mig") is None


def test_rows_without_the_value_do_not_count():
    found = measured([*A[:2], *B], "sap")
    assert found is not None
    assert found.seeds == 1


def test_groups_keep_the_order_and_where_wants_every_label():
    assert list(groups([*B, *A], "method")) == [("b",), ("a",)]
    assert groups([*B, *A], "method", "D")["a", 10] == A
    assert list(groups(A, "nothing")) == [("",)]
    assert where([*A, *B], method="b", D=10) == B
    assert where([*A, *B], method="b", D=20) == []


def test_column_is_by_seed():
    assert column([*reversed(A)], "mig") == [0.2, 0.3, 0.5]
    assert column([Row({}, 0, "x", {}, {}, 0.0)], "mig") == []
