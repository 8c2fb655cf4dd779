"""A progress bar for what takes longer than a moment, and only where somebody looks at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds before a bar appears


@contextmanager
def progress(label: str, total: float | None, done: int = 0) -> Generator[Callable[[float], None]]:
    """Yields `advance(amount)`; a bar on stderr after a second of work, nothing when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total, completed=done)
    begin = time.monotonic()

    def advance(amount: float) -> None:
        if time.monotonic() - begin > PATIENCE:
            bar.start()
        bar.advance(task, amount)

    try:
        yield advance
    finally:
        bar.stop()
