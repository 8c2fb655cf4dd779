"""On this machine: processes, or this very process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

from hatchel.study.engines.engine import Engine
from hatchel.study.worker import begin_worker, stopped

P = ParamSpec("P")
T = TypeVar("T")


class Here(Engine):
    """In this process, one after the other: for debugging, and for tasks that use all cores themselves."""

    @contextmanager
    def open(self) -> Generator[Executor]:
        yield _Immediate()

    @property
    def slots(self) -> int:
        return 1


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


class _Immediate(Executor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[Any] = Future()
        try:
            future.set_result(result := fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        else:
            if stopped(result):
                raise KeyboardInterrupt  # the training loop took the signal that was meant for this process
        return future


class _Processes(Executor):
    """A process pool whose workers end when they are asked to."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with _without_interrupts():
            return self._pool.submit(_work, fn, *args, **kwargs)


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Ctrl-C waits: a process that starts here is born deaf to it, or its imports would end in a traceback.

    `begin_worker` lets it hear again, once it knows what to do.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # starting it makes this process hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """In a worker. The pool would keep one that was asked to end, hand it the next task, and wait for it for ever."""
    try:
        result = fn(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        os._exit(1)
    if stopped(result):
        os._exit(1)
    return result
