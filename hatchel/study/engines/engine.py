"""Engine: something that computes cells; an existing one behind `concurrent.futures.Executor`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Any

from hatchel.errors import unknown
from hatchel.spec import Spec


class Engine(Spec, ABC, family="engine", home="hatchel.study.engines"):
    """Opens an executor; the cells, the records and their numbers are the same on every one."""

    workers: int = 0
    """Cells at once; 0 lets the engine choose."""

    @abstractmethod
    def open(self) -> AbstractContextManager[Executor]:
        """An executor, closed at the end; a HatchelError that says what to do where it cannot be reached."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many cells are computed at once."""

    @property
    def threads(self) -> int:
        """CPU threads for each cell, so that the cores are not oversubscribed."""
        return 1

    @classmethod
    def shorthand(cls, value: Any) -> Any:
        """`local`, `dask`, `dask://HOST:PORT`, `ray://HOST:PORT`, `slurm`: the kind and what it is given."""
        if isinstance(value, str):
            kind, _, address = value.partition("://")
            members = cls.members()
            if kind not in members:
                raise unknown("engine", kind, members)
            return members[kind].addressed(address)
        return value

    @classmethod
    def addressed(cls, address: str) -> Engine:
        """The engine at an address; most have none."""
        if address:
            from hatchel.errors import HatchelError

            raise HatchelError(f"engine {cls.kind}: takes no address; say --engine {cls.kind}")
        return cls()
