"""Local: processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from hatchel.study.engines.engine import Engine
from hatchel.study.worker import begin_worker


class Local(Engine):
    """Processes on this machine, one a core; each gets its share of the cores as threads."""

    @contextmanager
    def open(self) -> Generator[Executor]:
        """Spawned, not forked: torch's threads do not survive a fork."""
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.slots, mp_context=context, initializer=begin_worker)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @property
    def slots(self) -> int:
        """As many as cores, if not said."""
        return self.workers or os.cpu_count() or 1

    @property
    def threads(self) -> int:
        """The cores, divided."""
        return max(1, (os.cpu_count() or 1) // self.slots)
