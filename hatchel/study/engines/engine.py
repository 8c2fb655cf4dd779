"""Engine: something that computes tasks; an existing one behind `concurrent.futures.Executor`."""

from __future__ import annotations

import importlib.util
import os
import socket
from abc import ABC, abstractmethod
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count, Spec

CONNECT = 5.0
"""Seconds after which a cluster counts as unreachable."""


class Engine(Spec, ABC, family="engine", home="hatchel.study.engines"):
    """Opens an executor; the tasks, the records and their numbers are the same on every one."""

    brief: ClassVar[float] = 0.2
    """Seconds for which a worker goes on with tasks that it was handed in one message, if they are short."""
    first: ClassVar[int] = 1
    """Tasks of a message until it is known how long they take."""
    ahead: ClassVar[int] = 64
    """Messages that are handed out, at least, until then: here one costs milliseconds."""
    begins: ClassVar[float] = 30.0
    """Seconds within which workers have begun, and short tasks told how short they are."""

    workers: int = 0
    """Tasks at once; 0 lets the engine choose."""
    threads: Count = 1
    """CPU threads for each task. The last digits of a record depend on it, so it is not chosen by the machine."""

    def check(self) -> None:
        if self.workers < 0:
            raise HatchelError(f"workers: must be 0 (the engine chooses) or more, got {self.workers}")

    def ready(self) -> None:
        """Raise a HatchelError that says what to do where it cannot be used, before anything is timed or started."""

    @abstractmethod
    def open(self) -> AbstractContextManager[Executor]:
        """An executor, closed at the end; a HatchelError that says what to do where it cannot be reached."""

    @property
    def slots(self) -> int:
        """How many tasks are computed at once, as far as that is known before it is opened."""
        return self.workers or max(1, (os.cpu_count() or 1) // self.threads)

    @classmethod
    def coerce(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        kind, _, address = value.partition("://")
        members = cls.members()
        if kind not in members:
            raise unknown("engine", kind, members)
        if not address:
            return members[kind]()
        member = members[kind]
        if not issubclass(member, Cluster):
            raise HatchelError(f"engine {kind}: takes no address; use --engine {kind}")
        return member(address=address)


class Cluster(Engine):
    """Workers that a scheduler at an address hands tasks to; they need this version of Hatchel and the store's folder.

    Without an address a cluster is started on this machine.
    """

    address: str = ""
    """HOST:PORT of the scheduler."""

    def ready(self) -> None:
        require(self.kind, {"dask": "distributed"}.get(self.kind, self.kind))
        if self.address:
            reach(self.kind, self.address)

    @property
    def slots(self) -> int:
        return self.workers or (1 if self.address else super().slots)


def reach(kind: str, address: str) -> None:
    """Raise HatchelError where nothing answers at HOST:PORT; the clusters' own clients take minutes to say so."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise HatchelError(f"engine {kind}: {address!r} is not HOST:PORT; use --engine {kind}://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise HatchelError(f"engine {kind}: nothing answers at {address} ({reason}); is the cluster up?") from None


def require(kind: str, package: str) -> None:
    """Raise HatchelError with what to install."""
    if importlib.util.find_spec(package) is None:
        raise HatchelError(f'engine {kind}: {package} is not installed; pip install "hatchel[{kind}]"')
