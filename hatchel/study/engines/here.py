"""Here: one task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.study.engines.engine import Engine
from hatchel.study.worker import Outcome

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


class _Immediate(Executor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[Any] = Future()
        try:
            result = fn(*args, **kwargs)
        except Exception as error:
            future.set_exception(error)
        else:
            if isinstance(result, Outcome) and result.status == "stopped":
                raise KeyboardInterrupt  # the training loop took the signal that was meant for this process
            future.set_result(result)
        return future
