"""Runner: hands a study's cells to an engine until each has a record or an error."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from hatchel.core.errors import HatchelError
from hatchel.core.files import claimed
from hatchel.core.spec import to_dict
from hatchel.study.cell import Cell
from hatchel.study.engines.engine import Engine
from hatchel.study.store import Store
from hatchel.study.worker import CRASHES, Result, perform

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
    """Done, or failed and not retried, before this began."""
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
    """Compute every cell that has no record yet; equal cells once. With `retry`, failed ones again.

    Another runner may be at the same store: a cell is computed by one of them. `tell` hears at least every second.
    """
    store.create()
    session = _Session({cell.digest(): cell for cell in cells}, store, engine, tell)
    session.skip(retry)
    session.run(tuple(str(p.resolve()) for p in plugins))
    return session.tally


class _Session:
    """One call of `run_cells`."""

    def __init__(self, todo: dict[str, Cell], store: Store, engine: Engine, tell: Callable[[Tally], None]) -> None:
        self.todo, self.store, self.engine, self.tell = todo, store, engine, tell
        self.tally = Tally(len(todo))
        self.losses: Counter[str] = Counter()

    def skip(self, retry: bool) -> None:
        """Leave out what is done, and what has failed unless it is wanted again."""
        for digest in list(self.todo):
            status = self.store.status(digest)
            if status == "done" or (status == "failed" and not retry):
                self._finish(digest, status)
            else:
                self.store.forget(digest)
        self.tally.skipped = self.tally.done + self.tally.failed
        self._tell()

    def run(self, plugins: Sequence[str]) -> None:
        """Until nothing is left to do; an executor that breaks, because one of its processes died, is opened again."""
        breaks = 0
        while self.todo:
            before = len(self.todo)
            try:
                with self.engine.open() as executor:
                    self._drain(executor, plugins)
            except BrokenExecutor as error:
                breaks = breaks + 1 if len(self.todo) == before else 0
                # Every worker may be at a cell that kills it CRASHES times; beyond that it is not the cells.
                if breaks > CRASHES + self.engine.slots:
                    raise self._broken(f"its workers die, {breaks} times in a row", error) from error

    def _drain(self, executor: Executor, plugins: Sequence[str]) -> None:
        """All cells are handed out at once: the queue is the engine's affair, and clusters grow by its length."""
        new, elsewhere = deque(self.todo), list[str]()
        waiting: dict[Future[Result], str] = {}
        ready: SimpleQueue[Future[Result]] = SimpleQueue()
        folder = str(self.store.folder.resolve())
        try:
            while self.todo:
                if new:
                    digest = new.popleft()
                    body = to_dict(self.todo[digest])
                    future = executor.submit(perform, folder, body, self.engine.threads, plugins)
                    waiting[future] = digest
                    future.add_done_callback(ready.put)
                for future in _taken(ready, 0 if new else POLL):
                    digest = waiting.pop(future)
                    match self._outcome(digest, future):
                        case "again":
                            new.append(digest)
                        case "elsewhere":
                            elsewhere.append(digest)
                        case status:
                            self._finish(digest, status)
                            self._tell()
                if not new:
                    new.extend(self._freed(elsewhere))
                    self._tell()
        finally:
            for future in waiting:
                future.cancel()

    def _outcome(self, digest: str, future: Future[Result]) -> str:
        """`done`, `failed`, `elsewhere`, or `again` where it was stopped or its worker was lost."""
        try:
            result = future.result()
        except (BrokenExecutor, HatchelError):
            raise
        except Exception as error:  # `perform` keeps a cell's own: this is the engine's
            self.losses[digest] += 1
            if self.losses[digest] > CRASHES:
                raise self._broken(f"lost the worker of cell {digest} {self.losses[digest]} times", error) from error
            return "again"
        if result.digest != digest:
            raise HatchelError(f"engine {self.engine.kind}: its workers have another version of Hatchel or a plug-in")
        if result.outcome == "full":
            raise HatchelError(result.message)
        return "again" if result.outcome == "stopped" else result.outcome

    def _freed(self, elsewhere: list[str]) -> list[str]:
        """Cells of another runner: what it has finished is counted, what it let go is taken over."""
        free: list[str] = []
        for digest in list(elsewhere):
            status = self.store.status(digest)
            if status == "waiting":
                with claimed(self.store.lock(digest)) as mine:
                    if not mine:
                        continue
                free.append(digest)
            else:
                self._finish(digest, status)
            elsewhere.remove(digest)
        return free

    def _finish(self, digest: str, status: str) -> None:
        del self.todo[digest]
        if status == "done":
            self.tally.done += 1
        else:
            self.tally.failed += 1

    def _tell(self) -> None:
        self.tally.running = sum(self.store.attempt(digest).is_file() for digest in self.todo)
        self.tell(self.tally)

    def _broken(self, what: str, error: Exception) -> HatchelError:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return HatchelError(f"engine {self.engine.kind}: {what} ({type(error).__name__}: {lines[-1].strip()})")


def _taken(ready: SimpleQueue[Future[Result]], timeout: float) -> Generator[Future[Result]]:
    """The futures that have finished; where there are none, the first one to come in so many seconds."""
    try:
        yield ready.get(timeout=timeout) if timeout else ready.get_nowait()
        while True:
            yield ready.get_nowait()
    except Empty:
        return
