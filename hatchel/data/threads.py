"""Work on a batch, a few items at a time, shared out over threads where that pays."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

ENOUGH = 512  # items below which threads cost more than they save


def spread(work: Callable[[int, int], None], n: int, step: int) -> None:
    """Calls work(start, stop) for all of range(n), at most `step` items at a time so that they stay in the cache.

    Large batches are shared out over as many threads as torch may use. Not from other threads: those who call from
    one have already shared out their work.
    """
    if 0 < n <= min(step, ENOUGH):  # small batches are asked for so often that the rest would tell
        return work(0, n)
    threads = _threads() if n >= ENOUGH and threading.current_thread() is threading.main_thread() else 1

    def stretch(number: int) -> None:
        first, last = n * number // threads, n * (number + 1) // threads
        for start in range(first, last, step):
            work(start, min(start + step, last))

    others = [_pool().submit(stretch, number) for number in range(1, threads)]
    stretch(0)
    for other in others:
        other.result()


def _threads() -> int:
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else os.cpu_count() or 1


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "hatchel-data")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the threads stay behind with the parent
