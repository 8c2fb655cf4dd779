"""What is said about a running study."""

from __future__ import annotations

import io

import pytest

from hatchel.study import runner
from hatchel.study.progress import shown, status_line
from hatchel.study.runner import Tally


def test_a_status_line_has_pace_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.time, "monotonic", lambda: 1000.0)
    tally = Tally(40, done=12, failed=1, running=2, skipped=3, began=400.0)
    # 10 finished in 600 s: 60 an hour, 27 left at a minute each.
    assert status_line(tally, 600.0) == "12 of 40 tasks done, 2 running, 1 failed, 60 an hour, about 27 min left"
    assert status_line(Tally(4, began=0.0), 1000.0) == "0 of 4 tasks done"
    assert status_line(Tally(4, done=4, skipped=4), 0.0) == "4 of 4 tasks done"


def test_without_a_terminal_a_line_now_and_then() -> None:
    now, out = [0.0], io.StringIO()
    tally = Tally(4, began=0.0)
    with shown(out, lambda: now[0]) as on_progress:
        for at, done in ((0, 0), (10, 1), (30, 1), (70, 2), (80, 3), (100, 3), (110, 4), (111, 4)):
            now[0], tally.done = at, done
            on_progress(tally)
    lines = out.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == ["2 of 4 tasks done", "4 of 4 tasks done"]


def test_on_a_terminal_a_live_line() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with shown(out) as on_progress:
        on_progress(Tally(4, done=1, running=2))
    assert "1 of 4 tasks done, 2 running" in out.getvalue()
