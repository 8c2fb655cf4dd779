"""Local: processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.study.engines.engine import Engine
from hatchel.study.worker import Outcome, begin_worker

P = ParamSpec("P")
T = TypeVar("T")


class Local(Engine):
    """Processes on this machine, as many as there are cores for."""

    @contextmanager
    def open(self) -> Generator[Executor]:
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.slots, mp_context=context, initializer=begin_worker, initargs=(self.threads,))
        try:
            yield _Processes(pool)
        except BaseException:
            # Ctrl-C in a terminal reaches the workers too, `kill` does not: ask them to save and end in both cases.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @property
    def slots(self) -> int:
        return self.workers or max(1, (os.cpu_count() or 1) // self.threads)


class _Processes(Executor):
    """A process pool whose workers end when they are asked to."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._pool.submit(_work, fn, *args, **kwargs)


def _work(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """In a worker. The pool would keep one that was asked to end, hand it the next task, and wait for it for ever."""
    try:
        result = fn(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        os._exit(1)
    if isinstance(result, Outcome) and result.status == "stopped":
        os._exit(1)
    return result
