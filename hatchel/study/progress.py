"""Progress of a study on stderr: a live line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from hatchel.core.progress import duration

if TYPE_CHECKING:
    from hatchel.study.runner import Tally

EVERY = 60.0
"""Seconds between two lines where stderr is not a terminal."""


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
