"""Here: one cell after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.study.engines.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")


class Here(Engine):
    """In this process: for debugging, and where the cells themselves use all cores."""

    @contextmanager
    def open(self) -> Generator[Executor]:
        """Runs what is submitted at once."""
        yield _Immediate()

    @property
    def slots(self) -> int:
        """One."""
        return 1

    @property
    def threads(self) -> int:
        """All of them."""
        import os

        return os.cpu_count() or 1


class _Immediate(Executor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        return future
