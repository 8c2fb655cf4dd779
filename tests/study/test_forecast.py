"""The time of what is left, from records that differ in the seed alone; and how far a study is, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from hatchel.study.engines.local import Local
from hatchel.study.runner import Forecast, Tally, forecast
from hatchel.study.store import Store
from hatchel.study.task import Result
from tests.study.coin import Coin


def kept(store: Store, task: Coin, seconds: float) -> None:
    store.write(task, Result({"heads": 1.0}), seconds)


def test_the_records_tell_the_rest(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    for seed, seconds in ((0, 40.0), (1, 60.0)):
        kept(store, Coin(seed=seed), seconds)
    tasks = [Coin(seed=s) for s in range(5)]
    assert forecast([*tasks, tasks[4]], store, Local(workers=1)) == Forecast(3, 3, 150.0, 1)  # equal tasks once
    assert store.record(Coin(seed=0).digest())["seconds"] == 40


def test_kinds_of_task_are_timed_apart_and_divided_over_the_slots(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    for bias, seconds in ((0.1, 10.0), (0.3, 30.0)):
        kept(store, Coin(seed=0, bias=bias), seconds)
    tasks = [Coin(seed=s, bias=b) for b in (0.1, 0.3) for s in range(6)]
    found = forecast(tasks, store, Local(workers=4))
    # 5 x 10 s + 5 x 30 s on four slots of one thread.
    assert found == Forecast(10, 10, 50.0, 4)
    assert found.text() == "10 tasks to compute, 4 at once: roughly 50 s"


def test_what_was_never_timed_counts_as_the_median_of_what_is_done_and_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    kept(store, Coin(seed=0, bias=0.1), 10.0)
    store.write_error(Coin(seed=1, bias=0.1), "the coin is broken")  # failed: not computed again
    tasks = [Coin(seed=s, bias=b) for b in (0.1, 0.3) for s in range(3)]
    found = forecast(tasks, store, Local(workers=1))
    assert found == Forecast(4, 1, 40.0, 1)
    assert found.text() == "4 tasks to compute: roughly 40 s (3 of them like none that was timed)"
    # One that was halted meanwhile does not count for more than one; none like them is done.
    for seed, seconds in ((1, 12.0), (2, 4000.0)):
        kept(store, Coin(seed=seed, bias=0.1), seconds)
    found = forecast(tasks, store, Local(workers=1))
    assert found == Forecast(3, 0, 36.0, 1)
    assert found.text() == "3 tasks to compute: roughly 36 s (3 of them like none that was timed)"


def test_a_status_line_has_pace_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    tally = Tally(40, done=12, failed=1, running=2, skipped=3, began=400.0)
    # 10 finished in 600 s: 60 an hour, 27 left at a minute each.
    assert tally.text() == "12 of 40 tasks done, 2 running, 1 failed, 60 an hour, about 27 min left"
    assert Tally(4, began=0.0).text() == "0 of 4 tasks done"
    assert Tally(4, done=4, skipped=4).text() == "4 of 4 tasks done"
