"""float32 matrix products on AMD processors, where torch's default library leaves half of AVX512 unused."""

from __future__ import annotations

import functools
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

SMALL = 2**15
"""Numbers of a weight: a call of oneDNN takes 10 microseconds more, which small products do not win back."""


@contextmanager
def fast_products(net: nn.Module | None = None) -> Generator[None]:
    """Have torch multiply float32 matrices by oneDNN in place of MKL, where that is as exact and twice as fast.

    MKL runs its AVX2 code on AMD's processors. torch asks oneDNN only where products may be rounded to bfloat16; that
    oneDNN does on processors with matrix units (AMX) and nowhere else, so that elsewhere the permission changes which
    library multiplies and no more. Not for a `net` whose weights are all small, or not on a CPU: there the same
    permission would be taken.
    """
    import torch

    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # somebody has set precisions by backend: theirs to say
        before = "medium"
    worth = net is None or any(p.device.type == "cpu" and p.numel() >= SMALL for p in net.parameters())
    if before != "highest" or not worth or not pays():
        yield
        return
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@functools.cache
def pays() -> bool:
    """Whether this is such a processor, by name and not by a clock: a resumed run must multiply as before."""
    import torch

    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    known = "AuthenticAMD" in text and " amx" not in text and torch.backends.cpu.get_cpu_capability() == "AVX512"
    if not known or not torch.backends.mkldnn.is_available():
        return False
    x = torch.full((64, 64), 1 + 2.0**-12)  # bfloat16 has 1 for this
    torch.set_float32_matmul_precision("medium")
    try:
        return bool(((x @ x) / 64 - (1 + 2.0**-12) ** 2).abs().max() < 1e-6)
    finally:
        torch.set_float32_matmul_precision("highest")
