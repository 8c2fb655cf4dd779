"""Keep freed memory: on Linux, page faults are half of a small network's step. Refuse what cannot fit."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
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
    space = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize
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
