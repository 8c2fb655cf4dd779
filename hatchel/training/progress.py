"""Progress: a bar with the terms, throughput and remaining time; plain lines where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Shows one run; silent unless asked."""

    def __init__(self, title: str, start: int, steps: int, batch_size: int, show: bool) -> None:
        self._title, self._steps, self._batch_size = title, steps, batch_size
        self._began, self._first = time.perf_counter(), start
        self._terminal = show and sys.stderr.isatty()
        self._plain = show and not self._terminal
        self._next_line = start
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("[dim]{task.fields[terms]}"),
        )
        self._progress = Progress(*columns, console=Console(stderr=True), disable=not self._terminal)
        self._task = self._progress.add_task(title, total=steps, completed=start, rate="", terms="")

    def __enter__(self) -> Self:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing; the bar stays where it was."""
        self._progress.stop()

    def move(self, done: int) -> None:
        """`done` steps are done."""
        self._progress.update(self._task, completed=done)

    def tell(self, done: int, terms: Mapping[str, float]) -> None:
        """New values of the terms."""
        elapsed = time.perf_counter() - self._began
        rate = (done - self._first) * self._batch_size / max(elapsed, 1e-9)
        text = " ".join(f"{name} {value:.4g}" for name, value in terms.items())
        self._progress.update(self._task, completed=done, rate=f"{rate:,.0f}/s", terms=text)
        if self._plain and (done >= self._next_line or done == self._steps):
            self._next_line = done + self._steps // 10
            left = (self._steps - done) * elapsed / max(done - self._first, 1)
            print(
                f"{self._title}: {done}/{self._steps} steps, {rate:,.0f} items/s, {left:.0f} s left  {text}",
                file=sys.stderr,
                flush=True,
            )
