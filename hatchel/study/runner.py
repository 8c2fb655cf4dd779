"""Runner: hands a study's tasks to an engine until each has a record or an error."""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from queue import Empty, SimpleQueue

from hatchel.core.errors import HatchelError
from hatchel.core.files import claimed
from hatchel.core.progress import duration
from hatchel.core.spec import to_dict
from hatchel.study.engines.engine import Engine
from hatchel.study.store import Store
from hatchel.study.task import Task
from hatchel.study.worker import CRASHES, Outcome, perform_several

POLL = 1.0
"""Seconds between two checks of tasks that another runner computes."""
FIRST = 64
"""Tasks that tell whether they are short enough to be handed out together; and the most of them in a message."""
TOLD = 3
"""Timed tasks that are believed to be long."""


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
        return self.done + self.failed - self.skipped

    @property
    def remaining(self) -> float | None:
        """Seconds still to go, at the pace so far."""
        if not self.finished:
            return None
        return (time.monotonic() - self.began) / self.finished * (self.total - self.done - self.failed)

    def text(self) -> str:
        """How far it is: done, running, failed, how many an hour, and what remains at the pace so far."""
        parts = [f"{self.done} of {self.total} tasks done"]
        parts += [f"{self.running} running"] if self.running else []
        parts += [f"{self.failed} failed"] if self.failed else []
        elapsed = time.monotonic() - self.began
        if self.finished and elapsed > 0:
            hourly = 3600 * self.finished / elapsed
            parts.append(f"{hourly:.0f} an hour" if hourly < 600 else f"{hourly / 60:.0f} a minute")
        parts += [f"about {duration(self.remaining)} left"] if self.remaining else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Forecast:
    """The time of the tasks that have no record yet, from those, here or published, that are done."""

    tasks: int
    timed: int
    """Tasks of which an equal one with another seed is done."""
    seconds: float | None
    """Of all, as many at once as the engine has slots for; an untimed one as the median of what is done, if any is."""
    slots: int

    def text(self) -> str:
        """In one line.

        >>> Forecast(40, 40, 3600, 2).text(), Forecast(40, 0, None, 2).text()
        ('40 tasks to compute, 2 at once: roughly 1 h 0 min', '40 tasks to compute, 2 at once')
        >>> Forecast(3, 2, 900, 1).text(), Forecast(0, 0, 0, 2).text()
        ('3 tasks to compute: roughly 15 min (1 of them like none that was timed)', 'nothing left to compute')
        """
        if not self.tasks:
            return "nothing left to compute"
        head = f"{self.tasks} task{'s' * (self.tasks > 1)} to compute"
        head += f", {self.slots} at once" if min(self.tasks, self.slots) > 1 else ""
        if self.seconds is None:
            return head
        missing = self.tasks - self.timed
        note = f" ({missing} of them like none that was timed)" if missing else ""
        return f"{head}: roughly {duration(self.seconds)}{note}"


def forecast(tasks: Sequence[Task], store: Store, engine: Engine, taken: Collection[str] = ()) -> Forecast:
    """How long the tasks that are left will take, estimated from those that are done; `taken` need no computing."""
    alike: dict[str, list[str]] = {}
    for digest, task in {task.digest(): task for task in tasks}.items():
        alike.setdefault(task.with_fields(seed=0).digest(), []).append(digest)
    left, timed, seconds = 0, 0, 0.0
    known: list[float] = []
    for digests in alike.values():
        waiting = sum(digest not in taken and store.status(digest) == "waiting" for digest in digests)
        left += waiting
        if done := [found for d in digests if (found := store.seconds(d)) is not None]:
            timed += waiting
            seconds += waiting * sum(done) / len(done)
            known += done
    if not known:
        return Forecast(left, timed, None, engine.slots)
    seconds += (left - timed) * statistics.median(known)
    return Forecast(left, timed, seconds / engine.slots, engine.slots)


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    engine: Engine,
    *,
    retry: bool = False,
    plugins: Sequence[Path] = (),
    on_progress: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Compute every task that has no record yet; equal tasks once. With `retry`, failed ones again.

    Another runner may be at the same store: a task is computed by one of them. `on_progress` is called at least
    every second.
    """
    store.create()
    session = _Session({task.digest(): task for task in tasks}, store, engine, on_progress)
    session.skip(retry)
    session.run(tuple(str(p.resolve()) for p in plugins))
    return session.tally


class _Session:
    """One call of `run_tasks`."""

    def __init__(
        self, todo: dict[str, Task], store: Store, engine: Engine, on_progress: Callable[[Tally], None]
    ) -> None:
        self.todo, self.store, self.engine, self.on_progress = todo, store, engine, on_progress
        self.tally = Tally(len(todo))
        self.losses: Counter[str] = Counter()
        self._counted = self._looked = -1.0
        self._timed, self._pace = 0, 0.0
        """Tasks that told how many seconds they took, and their mean, the last ones counting most."""

    def skip(self, retry: bool) -> None:
        """Leave out what is done, and what has failed unless it is wanted again."""
        for digest in list(self.todo):
            status = self.store.status(digest)
            if status == "done" or (status == "failed" and not retry):
                self._finish(digest, status)
            else:
                self.store.forget(digest)
        self.tally.skipped = self.tally.done + self.tally.failed
        self._report()

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
                # Every worker may be at a task that kills it CRASHES times; beyond that it is not the tasks.
                if breaks > CRASHES + self.engine.slots:
                    raise self._broken(f"its workers die, {breaks} times in a row", error) from error

    def _drain(self, executor: Executor, plugins: Sequence[str]) -> None:
        """Long tasks are handed out at once: the queue is the engine's affair, and clusters grow by its length."""
        new, elsewhere = deque(self.todo), list[str]()
        waiting: dict[Future[list[Outcome]], list[str]] = {}
        ready: SimpleQueue[Future[list[Outcome]]] = SimpleQueue()
        folder, threads, began = str(self.store.folder.resolve()), self.engine.threads, time.monotonic()
        try:
            while self.todo:
                ramp = self._unsure(len(waiting)) and time.monotonic() - began < self.engine.begins
                if new and not ramp:
                    digests = [new.popleft() for _ in range(self._together(new))]
                    bodies = [to_dict(self.todo[digest]) for digest in digests]
                    future = executor.submit(perform_several, folder, bodies, threads, plugins, self.engine.brief)
                    waiting[future] = digests
                    future.add_done_callback(ready.put)
                for future in _finished_of(ready, POLL if ramp or not new else 0):
                    for digest, status in self._outcomes(waiting.pop(future), future):
                        if status == "again":
                            new.append(digest)
                        elif status == "elsewhere":
                            elsewhere.append(digest)
                        else:
                            self._finish(digest, status)
                            self._report()
                if ramp or not new:
                    new.extend(self._freed(elsewhere))
                    self._report()
        finally:
            for future in waiting:
                future.cancel()

    def _unsure(self, waiting: int) -> bool:
        """Whether so many messages are enough until more is known: few tasks were timed, and these are short."""
        enough = waiting >= max(self.engine.ahead, 2 * self.engine.slots)
        return enough and self._timed < FIRST and (self._timed < TOLD or self._pace < self.engine.brief)

    def _together(self, new: Sequence[str]) -> int:
        """How many of these are handed out in one message: several where they are short, and workers have enough."""
        most, least = self.engine.first, 0
        if self._timed:
            # The last ones are shared out, but for what takes a hundredth of the time that is worth a message.
            most = int(self.engine.brief / max(self._pace, 1e-6))
            least = int(self.engine.brief / 100 / max(self._pace, 1e-6))
        count = min(most, max(len(new) // (4 * self.engine.slots), least), FIRST, len(new))
        return next((i for i in range(count) if self.losses[new[i]]), count) or 1

    def _outcomes(self, digests: list[str], future: Future[list[Outcome]]) -> Generator[tuple[str, str]]:
        """`done`, `failed`, `elsewhere`, or `again` where it was left or stopped, or its worker was lost."""
        try:
            results = future.result()
        except (BrokenExecutor, HatchelError):
            raise
        except Exception as error:  # `perform` keeps a task's own: this is the engine's
            for digest in digests:
                self.losses[digest] += 1
                if self.losses[digest] > CRASHES:
                    what = f"lost the worker of task {digest} {self.losses[digest]} times"
                    raise self._broken(what, error) from error
                yield digest, "again"
            return
        for digest, result in zip_longest(digests, results):
            if result is None or result.status == "stopped":
                yield digest, "again"
                continue
            if result.digest != digest:
                broken = "its workers have another version of Hatchel or a plug-in"
                raise HatchelError(f"engine {self.engine.kind}: {broken}")
            if result.status == "full":
                raise HatchelError(result.message)
            if result.status != "elsewhere" and result.seconds is not None:
                self._timed += 1
                # Slowly, so that one hiccup of a busy machine is not taken for the length of all that follow.
                self._pace += (result.seconds - self._pace) * max(1 / self._timed, 1 / 8)
            yield digest, result.status

    def _freed(self, elsewhere: list[str]) -> list[str]:
        """Tasks of another runner: what it has finished is counted, what it let go is taken over."""
        if time.monotonic() < self._looked + POLL / 2:  # of thousands of tasks it takes longer than a short one of them
            return []
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
        self._looked = time.monotonic()
        return free

    def _finish(self, digest: str, status: str) -> None:
        del self.todo[digest]
        if status == "done":
            self.tally.done += 1
        else:
            self.tally.failed += 1

    def _report(self) -> None:
        began = time.monotonic()
        if began >= self._counted:
            self.tally.running = sum(self.store.attempt(digest).is_file() for digest in self.todo)
            now = time.monotonic()
            self._counted = now + 50 * (now - began)  # of thousands of tasks it takes longer than a short one of them
        self.on_progress(self.tally)

    def _broken(self, what: str, error: Exception) -> HatchelError:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return HatchelError(f"engine {self.engine.kind}: {what} ({type(error).__name__}: {lines[-1].strip()})")


def _finished_of(ready: SimpleQueue[Future[list[Outcome]]], timeout: float) -> Generator[Future[list[Outcome]]]:
    """The futures that have finished; where there are none, the first one to come in so many seconds."""
    try:
        yield ready.get(timeout=timeout) if timeout else ready.get_nowait()
        while True:
            yield ready.get_nowait()
    except Empty:
        return
