"""Progress on stderr: bars on a terminal and in notebooks, plain lines or nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self, TextIO

from rich.progress import Progress

PATIENCE = 1.0  # seconds before a bar appears
EVERY = 60.0  # seconds between two lines where stderr is not a terminal
_quiet = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool = True) -> Generator[None]:
    """No bars inside, if quiet."""
    token = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(token)


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def live() -> bool:
    """Whether a bar can move: on a terminal, and in a notebook."""
    return sys.stderr.isatty() or in_notebook()


class _Bar(Progress):
    """A bar on stderr, or in a notebook as an output that is updated: rich's own way there needs ipywidgets."""

    _handle: Any = None
    _shown = 0.0

    def start(self) -> None:
        if not in_notebook():
            return super().start()
        if self._handle is None and not self.disable:
            from IPython.display import display

            self._handle = display(self.make_tasks_table(self.tasks), display_id=True)

    def update(self, *arguments: Any, **changes: Any) -> None:
        super().update(*arguments, **changes)
        if self._handle is not None and time.monotonic() - self._shown > 0.5:
            self._shown = time.monotonic()
            self._handle.update(self.make_tasks_table(self.tasks))

    def stop(self) -> None:
        if self._handle is None:
            return super().stop()
        if self.live.transient:
            from IPython.display import Pretty

            self._handle.update(Pretty(""))
        else:
            self._handle.update(self.make_tasks_table(self.tasks))
        self._handle = None


@contextmanager
def progress(label: str, total: float | None, done: int = 0) -> Generator[Callable[..., None]]:
    """Yields `advance(amount, label="")`; a bar after a second of work, on a terminal or in a notebook.

    A label given to `advance` takes the place of the one before.
    """
    if _quiet.get() or not live():
        yield lambda amount, label="": None
        return
    from rich.console import Console

    bar = _Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total, completed=done)
    begin = time.monotonic()

    def advance(amount: float, label: str = "") -> None:
        if time.monotonic() - begin > PATIENCE:
            bar.start()
        bar.update(task, advance=amount, description=label or None)

    try:
        yield advance
    finally:
        bar.stop()


@contextmanager
def status(
    stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Generator[Callable[[int, int, str], None]]:
    """Yields `show(done, total, text)`: a live line on a terminal, elsewhere a line a minute, and one at the end."""
    out = stream or sys.stderr
    if out.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn

        columns = BarColumn(30), TextColumn("{task.description}")
        with Progress(*columns, console=Console(file=out), transient=True) as bar:
            task = bar.add_task("")
            yield lambda done, total, text: bar.update(task, total=total, completed=done, description=text)
        return
    printed: list[tuple[float, int]] = []

    def show(done: int, total: int, text: str) -> None:
        last, before = printed[-1] if printed else (clock(), done)
        if done != before and (done == total or clock() - last >= EVERY):
            print(text, file=out, flush=True)
            last, before = clock(), done
        printed[:] = [(last, before)]

    yield show


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


class TrainingBar:
    """A run's terms, throughput and remaining time; plain lines where no bar can move, silent unless asked."""

    def __init__(self, title: str, start: int, steps: int, batch_size: int, show: bool) -> None:
        self._title, self._steps, self._batch_size = title, steps, batch_size
        self._began, self._first = time.perf_counter(), start
        self._terminal = show and live()
        self._plain = show and not self._terminal
        self._next_line = start
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("[dim]{task.fields[terms]}"),
        )
        self._progress = _Bar(*columns, console=Console(stderr=True), disable=not self._terminal)
        self._task = self._progress.add_task(title, total=steps, completed=start, rate="", terms="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def advance_to(self, done: int) -> None:
        self._progress.update(self._task, completed=done)

    def update(self, done: int, terms: Mapping[str, float]) -> None:
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
