"""The bar: silent where nobody looks, drawn on a terminal after a moment."""

from __future__ import annotations

import io
import sys

import pytest

from hatchel.core import progress as module
from hatchel.core.progress import progress


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


def test_the_label_follows_what_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(module, "PATIENCE", -1)
    with progress("measuring", 2) as advance:
        advance(0, "mean: mig")
        advance(1)
    assert "mean: mig" in error.getvalue()
