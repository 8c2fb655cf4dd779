"""The bar: silent where nobody looks, drawn on a terminal after a moment."""

from __future__ import annotations

import io
import sys

import pytest

from hatchel.core import progress as module
from hatchel.core.progress import progress, status


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "patience", "shown"), [(io.StringIO, 0.0, False), (Terminal, -1, True), (Terminal, 9, False)]
)
def test_a_bar_only_on_a_terminal_and_after_a_moment(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], patience: float, shown: bool
) -> None:
    error = stream()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(module, "PATIENCE", patience)
    with progress("counting", 10) as advance:
        advance(5)
    assert ("counting" in error.getvalue()) == shown


def test_without_a_terminal_a_line_now_and_then() -> None:
    now, out = [0.0], io.StringIO()
    with status(out, lambda: now[0]) as show:
        for at, done in ((0, 0), (10, 1), (30, 1), (70, 2), (80, 3), (100, 3), (110, 4), (111, 4)):
            now[0] = at
            show(done, 4, f"{done} of 4 tasks done")
    assert out.getvalue().splitlines() == ["2 of 4 tasks done", "4 of 4 tasks done"]


def test_what_was_done_before_needs_no_line() -> None:
    out = io.StringIO()
    with status(out) as show:
        show(4, 4, "4 of 4 tasks done")
    assert not out.getvalue()


def test_on_a_terminal_a_live_line() -> None:
    out = Terminal()
    with status(out) as show:
        show(1, 4, "1 of 4 tasks done, 2 running")
    assert "1 of 4 tasks done, 2 running" in out.getvalue()


def test_the_label_follows_what_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(module, "PATIENCE", -1)
    with progress("measuring", 2) as advance:
        advance(0, "mean: mig")
        advance(1)
    assert "mean: mig" in error.getvalue()
