"""Keep freed memory: on Linux, page faults are half of a small network's step."""

from __future__ import annotations

import ctypes
import functools
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4


@functools.cache
def keep_memory() -> bool:
    """Tell glibc's allocator not to hand freed blocks back to the system between steps; whether it complied.

    A training step frees and asks again for the same tens of megabytes; by default each round trip maps, zeroes and
    faults in every page. Does nothing where the C library is another one.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 2**28}
    return all(mallopt(key, value) == 1 for key, value in settings.items())
