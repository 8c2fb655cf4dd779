"""Progress of a study on stderr: a live line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from hatchel.study.runner import Tally

EVERY = 60.0
"""Seconds between two lines where stderr is not a terminal."""


def duration(seconds: float) -> str:
    """In words.

    >>> duration(7.4), duration(300), duration(5400), duration(200_000)
    ('7 s', '5 min', '1 h 30 min', '2 d 7 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def status_line(tally: Tally, elapsed: float) -> str:
    """How far a study is: done, running, failed, how many an hour, and what remains."""
    parts = [f"{tally.done} of {tally.total} tasks done"]
    parts += [f"{tally.running} running"] if tally.running else []
    parts += [f"{tally.failed} failed"] if tally.failed else []
    if tally.finished and elapsed > 0:
        hourly = 3600 * tally.finished / elapsed
        parts.append(f"{hourly:.0f} an hour" if hourly < 600 else f"{hourly / 60:.0f} a minute")
    left = tally.total - tally.done - tally.failed
    if left and tally.remaining is not None:
        parts.append(f"about {duration(tally.remaining)} left")
    return ", ".join(parts)


@contextmanager
def shown(
    stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Generator[Callable[[Tally], None]]:
    """Yields `on_progress` for `run_tasks`."""
    out = stream or sys.stderr
    if not out.isatty():
        yield _Lines(out, clock).show
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(BarColumn(30), TextColumn("{task.description}"), console=Console(file=out), transient=True)
    task = bar.add_task("")

    def show(tally: Tally) -> None:
        done = tally.done + tally.failed
        bar.update(task, total=tally.total, completed=done, description=status_line(tally, clock() - tally.began))

    with bar:
        yield show


class _Lines:
    """For a log file: a line when a minute has passed and something has changed."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self.out, self.clock = out, clock
        self.last: float | None = None
        self.shown = (-1, -1)

    def show(self, tally: Tally) -> None:
        now, state = self.clock(), (tally.done, tally.failed)
        self.last = now if self.last is None else self.last
        over = tally.done + tally.failed == tally.total and tally.finished > 0
        if state != self.shown and (over or now - self.last >= EVERY):
            print(status_line(tally, now - tally.began), file=self.out, flush=True)
            self.last, self.shown = now, state
