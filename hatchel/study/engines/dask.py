"""Dask: a cluster of https://distributed.dask.org, or one started on this machine."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.core.errors import HatchelError
from hatchel.study.engines.engine import CONNECT, Cluster

P = ParamSpec("P")
T = TypeVar("T")

LOCAL: dict[str, Any] = {
    "threads_per_worker": 1,
    "processes": True,
    "memory_limit": None,  # Dask's own kills a worker over pages of a memory-mapped dataset
    "dashboard_address": "127.0.0.1:0",  # any free port: two studies at once must not meet on one
    "silence_logs": logging.CRITICAL,
}
CALM: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.active-memory-manager.start": False,
}
"""What a cluster of our own does without. Nobody looks at its dashboard, for which it would stop its workers a hundred
times a second to see where they are; that and the like took a twelfth of a core."""


class Dask(Cluster):
    """The workers of a Dask scheduler. They need this version of Hatchel and the store's folder."""

    @contextmanager
    def open(self) -> Generator[Executor]:
        self.ready()
        import dask.config as settings
        from distributed import Client, LocalCluster

        # It logs what the runner answers: workers that died, a scheduler that is gone.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        with contextlib.ExitStack() as stack:
            if self.address:
                try:
                    client = Client(f"tcp://{self.address}", timeout=CONNECT, set_as_default=False)
                except (OSError, ValueError) as error:
                    raise HatchelError(f"engine dask: {self.address} is no Dask scheduler ({error})") from None
            else:
                with settings.set(CALM):  # its workers have what is set now, also those it starts again
                    cluster = LocalCluster(n_workers=self.slots, **LOCAL)
                stack.enter_context(cluster)
                client = Client(cluster, set_as_default=False)
            stack.enter_context(client)
            yield stack.enter_context(_Tasks(client))


class _Tasks(Executor):
    """Futures that break when the scheduler is gone; Dask's own would wait for it for ever."""

    def __init__(self, client: Any) -> None:
        # Not pure: a task handed out again after its worker died is not the task that failed.
        self._client, self._inner = client, client.get_executor(pure=False)
        self._waiting: set[Future[Any]] = set()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = self._inner.submit(fn, *args, **kwargs)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(1.0):
            for future in list(self._waiting) if self._client.status in ("closing", "closed") else ():
                with contextlib.suppress(InvalidStateError):
                    future.set_exception(BrokenExecutor("the scheduler is gone"))
