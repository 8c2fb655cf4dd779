"""Work on a batch in chunks, split between threads where that is faster."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MIN_ITEMS = 512  # items below which threads cost more than they save


def in_chunks(work: Callable[[int, int], None], n: int, step: int) -> None:
    """Calls work(start, stop) for all of range(n), at most `step` items at a time so that they stay in the cache.

    Large batches are split between as many threads as torch may use, unless the caller is itself one of several.
    """
    if 0 < n <= min(step, MIN_ITEMS):  # small batches are so frequent that the overhead below would show
        return work(0, n)
    threads = _threads() if n >= MIN_ITEMS and threading.current_thread() is threading.main_thread() else 1

    def share(number: int) -> None:
        first, last = n * number // threads, n * (number + 1) // threads
        for start in range(first, last, step):
            work(start, min(start + step, last))

    others = [_pool().submit(share, number) for number in range(1, threads)]
    share(0)
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
