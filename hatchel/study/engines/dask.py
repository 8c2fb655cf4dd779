"""Dask: a cluster of https://distributed.dask.org, or one started on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.core.errors import HatchelError
from hatchel.study.engines.engine import CONNECT, Engine, missing, reach

P = ParamSpec("P")
T = TypeVar("T")


class Dask(Engine):
    """The workers of a Dask scheduler. They need this version of Hatchel and the store's folder."""

    address: str = ""
    """HOST:PORT of the scheduler; without one a cluster of processes is started on this machine."""

    @classmethod
    def addressed(cls, address: str) -> Dask:
        return cls(address=address)

    def ready(self) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise missing("dask", "distributed")
        if self.address:
            reach("dask", self.address)

    @contextmanager
    def open(self) -> Generator[Executor]:
        self.ready()
        from distributed import Client

        with _silent(), contextlib.ExitStack() as stack:
            if self.address:
                try:
                    client = Client(f"tcp://{self.address}", timeout=CONNECT, set_as_default=False)
                except (OSError, ValueError) as error:
                    raise HatchelError(f"engine dask: {self.address} is no Dask scheduler ({error})") from None
            else:
                client = Client(stack.enter_context(self._cluster()), set_as_default=False)
            stack.enter_context(client)
            yield stack.enter_context(_watched(client))

    def _cluster(self) -> Any:
        from distributed import LocalCluster

        options: dict[str, Any] = {
            "n_workers": self.slots,
            "threads_per_worker": 1,
            "processes": True,
            "memory_limit": None,  # Dask's own kills a worker over pages of a memory-mapped dataset
            "dashboard_address": "127.0.0.1:0",  # any free port: two studies at once must not meet on one
            "silence_logs": logging.CRITICAL,
        }
        return LocalCluster(**options)

    @property
    def slots(self) -> int:
        return self.workers or (1 if self.address else max(1, (os.cpu_count() or 1) // self.threads))


@contextmanager
def _silent() -> Generator[None]:
    """Dask logs what the runner answers: workers that died, a scheduler that is gone."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _watched(client: Any) -> Generator[Executor]:
    """An executor whose futures break when the scheduler is gone; Dask's own would wait for it for ever."""
    executor, closed = _Tasks(client), threading.Event()

    def watch() -> None:
        while not closed.wait(1.0):
            if client.status in ("closing", "closed"):
                executor.give_up()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield executor
    finally:
        closed.set()
        watcher.join()


class _Tasks(Executor):
    def __init__(self, client: Any) -> None:
        # Not pure: a task handed out again after its worker died is not the task that failed.
        self._inner = client.get_executor(pure=False)
        self._open: set[Future[Any]] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = self._inner.submit(fn, *args, **kwargs)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def give_up(self) -> None:
        for future in list(self._open):
            with contextlib.suppress(InvalidStateError):
                future.set_exception(BrokenExecutor("the scheduler is gone"))
