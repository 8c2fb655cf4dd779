"""Ray: a cluster of https://ray.io, or one started on this machine."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hatchel.errors import HatchelError
from hatchel.study.engines.engine import Engine, missing, reach

P = ParamSpec("P")
T = TypeVar("T")


class Ray(Engine):
    """The workers of a Ray cluster. They need this version of Hatchel and the store's folder."""

    address: str = ""
    """HOST:PORT of the head's client server (usually port 10001); without one Ray is started on this machine."""

    @classmethod
    def addressed(cls, address: str) -> Ray:
        """`ray://HOST:PORT`."""
        return cls(address=address)

    @contextmanager
    def open(self) -> Generator[Executor]:
        """An executor over `ray.remote`."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user asks for it
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a cell sees the GPUs, as on every engine
        try:
            ray: Any = importlib.import_module("ray")  # by name, so that the types can be checked without it
        except ImportError:
            raise missing("ray", "ray") from None
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self.address:
            reach("ray", self.address)
            try:
                ray.init(f"ray://{self.address}", **quiet)
            except (ConnectionError, RuntimeError, ImportError) as error:
                reason = str(error).splitlines()[0]
                raise HatchelError(f"engine ray: {self.address} cannot be used ({reason})") from None
        else:
            ray.init("local", num_cpus=self.slots * self.threads, include_dashboard=False, **quiet)
        try:
            yield _Remote(ray, self.threads)
        finally:
            ray.shutdown()

    @property
    def slots(self) -> int:
        """Of a cluster started here, the cores; another's size is its own affair."""
        return self.workers or (1 if self.address else max(1, (os.cpu_count() or 1) // self.threads))


class _Remote(Executor):
    """Each call a Ray task. Ray does not repeat it when its worker dies: the runner does, and counts."""

    def __init__(self, ray: Any, threads: int) -> None:
        self._ray, self._threads = ray, threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        task = self._ray.remote(num_cpus=self._threads, max_retries=0)(fn)
        return task.remote(*args, **kwargs).future()
