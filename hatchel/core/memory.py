"""Keep freed memory: on Linux, page faults are half of a small network's step. Refuse what cannot fit."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    import numpy as np
    import torch

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


@contextmanager
def fitting_parameters() -> Generator[None]:
    """Refuse networks whose weights would not fit into this machine's memory, before any of it is touched."""
    from torch.nn.modules import module

    total = 0
    space = physical()
    much = "the networks would need more memory than this machine has; lower a width, such as latent.dim"

    def count(_: object, __: str, parameter: torch.Tensor | None) -> None:
        nonlocal total
        total += parameter.nbytes if parameter is not None else 0
        if total > space:
            raise HatchelError(much)

    hook = module.register_module_parameter_registration_hook(count)
    try:
        yield
    except RuntimeError as error:
        if not re.search("allocate memory|too large|overflow", str(error)):
            raise
        raise HatchelError(much) from None
    finally:
        hook.remove()


def read_at_random(array: np.memmap[Any, Any]) -> bool:
    """Tell the system that items of this file are read in no order, where it is too large for memory; whether it was.

    Else every item that is read makes it read megabytes around it, which are gone again before they are wanted. A file
    that fits is in memory the sooner for it.
    """
    mapped: mmap.mmap | None = getattr(array, "_mmap", None)
    if mapped is None or not hasattr(mapped, "madvise") or len(mapped) < physical() / 2:
        return False
    mapped.madvise(mmap.MADV_RANDOM)
    return True


def physical() -> int:
    """Bytes of this machine's memory; where the system does not say, as if it had no end."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize
