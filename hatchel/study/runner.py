"""Runner: hands a study's cells to an engine until each has a record or an error."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path

from hatchel.errors import HatchelError
from hatchel.files import claimed
from hatchel.spec import encode
from hatchel.study.cell import Cell
from hatchel.study.engines.engine import Engine
from hatchel.study.store import Store
from hatchel.study.worker import Result, perform

CRASHES = 2
"""Times a cell may take its worker down with it before it counts as failed."""
POLL = 1.0
"""Seconds between two looks at cells that another runner is at."""


@dataclass
class Tally:
    """Where a study stands."""

    total: int
    done: int = 0
    """With those that were done before."""
    failed: int = 0
    running: int = 0
    skipped: int = 0
    """Done before this began."""
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> int:
        """In this session."""
        return self.done + self.failed - self.skipped

    @property
    def remaining(self) -> float | None:
        """Seconds still to go, at the pace so far."""
        if not self.finished:
            return None
        return (time.monotonic() - self.began) / self.finished * (self.total - self.done - self.failed)


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    engine: Engine,
    *,
    retry: bool = False,
    plugins: Sequence[Path] = (),
    tell: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Compute every cell that has no record yet; equal cells once. With `retry`, failed ones again."""
    store.create()
    return _Session(store, engine, retry, tuple(str(p.resolve()) for p in plugins), tell).run(cells)


class _Session:
    """One call of `run_cells`."""

    def __init__(
        self, store: Store, engine: Engine, retry: bool, plugins: tuple[str, ...], tell: Callable[[Tally], None]
    ) -> None:
        self.store, self.engine, self.retry, self.plugins, self.tell = store, engine, retry, plugins, tell
        self.crashes: Counter[str] = Counter()

    def run(self, cells: Sequence[Cell]) -> Tally:
        todo = {cell.digest(): cell for cell in cells}
        self.tally = Tally(len(todo))
        for digest in list(todo):
            status = self.store.status(digest)
            if status == "done" or (status == "failed" and not self.retry):
                self._count(status)
                todo.pop(digest)
        self.tally.skipped = self.tally.done + self.tally.failed
        self.tell(self.tally)
        while todo:
            try:
                with self.engine.open() as executor:
                    self._drain(executor, todo)
            except BrokenExecutor:
                self._blame(todo)
        return self.tally

    def _drain(self, executor: Executor, todo: dict[str, Cell]) -> None:
        """Until nothing is left to do, or the executor breaks."""
        waiting: dict[Future[Result], str] = {}
        queue = list(todo)
        elsewhere: list[str] = []
        try:
            while todo:
                # A few more than there are slots: an engine far away should not have to wait for the next cell.
                while queue and len(waiting) < 2 * self.engine.slots:
                    digest = queue.pop(0)
                    waiting[self._submit(executor, todo[digest])] = digest
                self.tally.running = min(self.engine.slots, len(waiting))
                self.tell(self.tally)
                finished, _ = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in finished:
                    digest = waiting.pop(future)
                    self._take(future.result(), todo, elsewhere)
                queue += self._freed(elsewhere, todo)
                if not waiting and not queue:
                    time.sleep(POLL if elsewhere else 0)
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, executor: Executor, cell: Cell) -> Future[Result]:
        body = encode(cell)
        return executor.submit(
            perform, str(self.store.folder.resolve()), body, self.engine.threads, self.plugins, self.retry
        )

    def _take(self, result: Result, todo: dict[str, Cell], elsewhere: list[str]) -> None:
        if result.outcome == "stopped":
            raise KeyboardInterrupt
        if result.outcome == "full":
            raise HatchelError(result.message)
        if result.outcome == "elsewhere":
            elsewhere.append(result.digest)
            return
        todo.pop(result.digest)
        self._count(result.outcome)
        self.tell(self.tally)

    def _freed(self, elsewhere: list[str], todo: dict[str, Cell]) -> list[str]:
        """Cells of another runner that are done, which are counted, or let go, which are taken over."""
        free: list[str] = []
        for digest in list(elsewhere):
            if self.store.status(digest) == "done":
                todo.pop(digest)
                self._count("done")
            else:
                with claimed(self.store.place(digest) / "lock") as mine:
                    if not mine:
                        continue
                free.append(digest)
            elsewhere.remove(digest)
        return free

    def _blame(self, todo: dict[str, Cell]) -> None:
        """After a worker died: whose cell it was; one that does it again is given up."""
        for digest, cell in list(todo.items()):
            attempt = self.store.place(digest) / "attempt.json"
            with claimed(attempt.with_name("lock")) as mine:
                if not mine or not attempt.is_file():
                    continue
            attempt.unlink()
            self.crashes[digest] += 1
            if self.crashes[digest] >= CRASHES:
                self.store.write_error(cell, "its worker process died: killed, or out of memory")
                todo.pop(digest)
                self._count("failed")

    def _count(self, status: str) -> None:
        if status == "done":
            self.tally.done += 1
        else:
            self.tally.failed += 1
