"""Ray: a cluster of https://ray.io, or one started on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hatchel.core.errors import HatchelError
from hatchel.study.engines.engine import Engine, missing, reach

P = ParamSpec("P")
T = TypeVar("T")

ATTEMPTS = 3
"""To connect to a cluster."""


class Ray(Engine):
    """The workers of a Ray cluster. They need this version of Hatchel and the store's folder."""

    address: str = ""
    """HOST:PORT of the head's client server (usually port 10001); without one Ray is started on this machine."""

    @classmethod
    def addressed(cls, address: str) -> Ray:
        return cls(address=address)

    def ready(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise missing("ray", "ray")
        if self.address:
            reach("ray", self.address)

    @contextmanager
    def open(self) -> Generator[Executor]:
        self.ready()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user asks for it
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a task sees the GPUs, as on every engine
        if self.address:
            present_token()
        ray: Any = importlib.import_module("ray")  # by name, so that the types can be checked without it
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self.address:
            _connect(ray, self.address, quiet)
        else:
            ray.init("local", num_cpus=self.slots * self.threads, include_dashboard=False, **quiet)
        try:
            yield _Remote(ray, self.threads)
        finally:
            ray.shutdown()

    @property
    def slots(self) -> int:
        return self.workers or (1 if self.address else max(1, (os.cpu_count() or 1) // self.threads))


def _connect(ray: Any, address: str, options: Mapping[str, Any]) -> None:
    """Now and then the process that a head starts for a client is lost as it forks, and Ray gives up: asked again."""
    for left in reversed(range(ATTEMPTS)):
        try:
            ray.init(f"ray://{address}", **options)
            return
        except (ConnectionError, RuntimeError, ImportError) as error:
            ray.shutdown()
            if left and "Initialization failure" in str(error):
                continue
            lines = [line.strip().rstrip(".:") for line in str(error).splitlines() if line.strip()]
            reason = ": ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else type(error).__name__
            hint = "if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
            raise HatchelError(f"engine ray: {address} cannot be used ({reason}); {hint}") from None


def present_token() -> None:
    """Have Ray's client send the token that this user has, if any and unless RAY_AUTH_MODE says what to do.

    A head that finds a token asks every client for it, and Ray started here leaves one behind; but Ray's client sends
    it only in that mode, which is read when ray is imported. A cluster that asks for none does not mind one.
    """
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if named or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


class _Remote(Executor):
    """Each call a Ray task. Ray does not repeat it when its worker dies: the runner does, and counts."""

    def __init__(self, ray: Any, threads: int) -> None:
        self._ray, self._threads = ray, threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        task = self._ray.remote(num_cpus=self._threads, max_retries=0)(fn)
        return task.remote(*args, **kwargs).future()
