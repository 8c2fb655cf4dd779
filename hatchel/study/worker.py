"""Worker: computes one task, wherever an engine has put it."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, claimed, disk_problem, read_json, write_json
from hatchel.core.spec import from_dict
from hatchel.study.store import Store
from hatchel.study.task import Task, Workspace

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

CRASHES = 2
"""Times a task may take its worker down with it before it counts as failed."""
IMPORTS = 20.0
"""Seconds that the first task of a process may take to import what it needs."""
PATIENCE = 60.0
"""Seconds a worker without a runner is given to save itself."""


@dataclass(frozen=True)
class Outcome:
    """How it went: `elsewhere` where another process is at the same task, `full` where nothing can be written."""

    digest: str
    status: Literal["done", "failed", "stopped", "elsewhere", "full"]
    message: str = ""
    seconds: float | None = field(default=None, compare=False)
    """That it took, all in all; None where it had to import something, so that the next one is faster."""


def perform_several(
    store: str, tasks: Sequence[Mapping[str, Any]], threads: int = 1, plugins: Sequence[str] = (), brief: float = 0.0
) -> list[Outcome]:
    """Compute the first task, and more until `brief` seconds have passed: another worker may be free for the rest.

    The time in which modules are imported does not count.
    """
    spent, found = 0.0, list[Outcome]()
    for task in tasks:
        before, known = time.monotonic(), len(sys.modules)
        outcome = perform(store, task, threads, plugins)
        took, imported = time.monotonic() - before, len(sys.modules) > known
        found.append(replace(outcome, seconds=None if imported else took))
        spent += max(0.0, took - IMPORTS) if imported else took
        if outcome.status in ("stopped", "full") or spent > brief:
            break
    return found


def stopped(result: object) -> bool:
    """Whether a call ended because this process was asked to end."""
    return isinstance(result, list) and any(isinstance(o, Outcome) and o.status == "stopped" for o in result)


def perform(store: str, task: Mapping[str, Any], threads: int = 1, plugins: Sequence[str] = ()) -> Outcome:
    """Compute a task and keep its record. Everything it takes is plain data, so that any engine can carry it."""
    for plugin in plugins:
        _load(plugin)
    spec, kept = from_dict(Task, task), Store(store)
    digest = spec.digest()
    try:
        with claimed(kept.lock(digest)) as mine:
            if not mine:
                return Outcome(digest, "elsewhere")
            status = kept.status(digest)
            if status == "done":
                return Outcome(digest, "done")
            if status == "failed":
                return Outcome(digest, "failed", kept.error(digest))
            return _attempt(kept, spec, digest, threads)
    except Exception as error:
        reason = disk_problem(error)
        if not reason:
            raise
        return Outcome(digest, "full", f"{kept.folder}: {reason}; free some space and run the study again")


def _attempt(kept: Store, task: Task, digest: str, threads: int) -> Outcome:
    """Compute the task, unless it has killed its worker too often."""
    note = kept.attempt(digest)
    died = _deaths(note)
    if died >= CRASHES:
        message = f"its worker died {died} times while computing it: killed, or out of memory"
        kept.write_error(task, message)
        note.unlink()
        return Outcome(digest, "failed", message)
    write_json(note, {"died": died}, flush=False)  # it is to outlive this process, not the machine
    try:
        with cpu_threads(threads):
            return _compute(kept, task, digest, threads)
    finally:
        note.unlink(missing_ok=True)


def _deaths(note: Path) -> int:
    try:
        # A note without a number is a record that was about to take its place.
        return int(read_json(note).get("died", 0)) + 1 if note.is_file() else 0
    except Damaged:
        return 1


def _compute(kept: Store, task: Task, digest: str, threads: int) -> Outcome:
    from hatchel.training.loop import Stopped

    begin = time.monotonic()
    try:
        result = task.compute(Workspace(kept.folder_of(digest), kept.runs, threads))
        kept.write(task, result, time.monotonic() - begin)
    except Stopped as stopped:
        return Outcome(digest, "stopped", str(stopped))
    except Exception as error:
        if disk_problem(error):
            raise
        message = str(error) if isinstance(error, HatchelError) else f"{type(error).__name__}: {error}"
        kept.write_error(task, message, traceback.format_exc())
        return Outcome(digest, "failed", message)
    return Outcome(digest, "done")


@contextlib.contextmanager
def cpu_threads(count: int) -> Generator[None]:
    """So many CPU threads for torch, BLAS and OpenMP; put back at the end, because `here` is the user's process."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with _libraries(len(sys.modules)).limit(limits=count):
            yield
    finally:
        torch.set_num_threads(before)


@functools.lru_cache(1)
def _libraries(modules: int) -> ThreadpoolController:
    """Of BLAS and OpenMP: looked for again, which takes milliseconds, when so many more modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@functools.cache
def _load(plugin: str) -> None:
    from hatchel.core.plugins import load_file

    load_file(Path(plugin))


def begin_worker(threads: int) -> None:
    """For a local worker process: Ctrl-C is left to the runner and the training loop; it ends with the runner."""
    import multiprocessing

    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # for libraries loaded later
        os.environ[name] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the engine had it blocked meanwhile
    signal.signal(signal.SIGTERM, _leave)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)  # the training loop saves itself on this
            time.sleep(PATIENCE)
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _leave(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt the cleaning up
    raise SystemExit(1)
