"""Dask: a cluster of https://distributed.dask.org, or one started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from hatchel.errors import HatchelError
from hatchel.study.engines.engine import CONNECT, Engine, missing, reach


class Dask(Engine):
    """The workers of a Dask scheduler. They need this version of Hatchel and the store's folder."""

    address: str = ""
    """HOST:PORT of the scheduler; without one a cluster of processes is started on this machine."""

    @classmethod
    def addressed(cls, address: str) -> Dask:
        """`dask://HOST:PORT`."""
        return cls(address=address)

    @contextmanager
    def open(self) -> Generator[Executor]:
        """`pure=False`: a cell handed out again after its worker died is not the task that failed."""
        try:
            from distributed import Client
        except ImportError:
            raise missing("dask", "distributed") from None
        if self.address:
            reach("dask", self.address)
            try:
                client = Client(f"tcp://{self.address}", timeout=CONNECT, set_as_default=False)
            except (OSError, ValueError) as error:
                raise HatchelError(f"engine dask: {self.address} is no Dask scheduler ({error})") from None
            with client:
                yield client.get_executor(pure=False)
        else:
            with self._cluster() as cluster, Client(cluster, set_as_default=False) as client:
                yield client.get_executor(pure=False)

    def _cluster(self) -> Any:
        from distributed import LocalCluster

        options: dict[str, Any] = {
            "n_workers": self.slots,
            "threads_per_worker": 1,
            "processes": True,
            "memory_limit": None,  # Dask's own kills a worker over pages of a memory-mapped dataset
            "dashboard_address": None,
            "silence_logs": logging.CRITICAL,
        }
        return LocalCluster(**options)

    @property
    def slots(self) -> int:
        """Of a cluster started here, the cores; another's size is its own affair."""
        return self.workers or (1 if self.address else max(1, (os.cpu_count() or 1) // self.threads))
