"""What bounds a training step on one core: bare products, convolutions, calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from encoders import Side
from torch.utils._python_dispatch import TorchDispatchMode

from hatchel.core.products import fast_products


class Limit:
    """A bare matrix product of 1024 x 1024 numbers, which stays in the cache: what the processor can do."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.a, self.b, self.c = torch.rand(3, 1024, 1024).to(dtype).unbind()

    @fast_products()
    def speed(self) -> float:
        """Multiplications a second."""
        began = time.process_time()
        torch.mm(self.a, self.b, out=self.c)
        return 1024**3 / (time.process_time() - began)


def arithmetic(macs: Mapping[str, Mapping[str, int]], step: float, bare: float) -> str:
    """What the misses are made of, from each side's multiplications an image and the seconds of beta-VAE's step."""
    # Counted are a reading and a lesson apart: the joint twice and the product once, and each of them twice.
    passes = {"FactorVAE, 1000 units": 2 / 3, "RecurD-1 with MINE": 1 / 2}
    critics = [3 * 64 * share * macs[name]["objective"] / bare for name, share in passes.items()]
    adds = [f"{1000 * least:.0f} ms, {least / step:.2f} of beta-VAE's step" for least in critics]
    plain, split = (sum(macs[name].values()) for name in ("beta-VAE", "split encoder"))
    branches = 10 * 32 * 64 * 16 * 16
    form = split - branches * (64 - 25) // 64
    return (
        "Multiplications that a critic needs take, at the bare product's speed and in one pass for its reading and its "
        f"lesson: {adds[0]}, for FactorVAE's 1000 units; {adds[1]}, for the 141 pairs of RecurD-1. With `by.share` a "
        "step draws a share of the pairs; ours, off by default. The split encoder and its decoder have "
        f"{split / 1e6:.1f} M multiplications an image to beta-VAE's {plain / 1e6:.1f} M; Winograd's form of the "
        f"branches leaves {form / 1e6:.1f} M, and moves 8 MB of sums through the caches five times."
    )


class Convolutions(TorchDispatchMode):
    """Adds up the seconds that convolutions and their gradients take."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        began = time.process_time()
        result = func(*args, **(kwargs or {}))
        self.seconds += (time.process_time() - began) * ("convolution" in str(func))
        return result


def halves(sides: Sequence[Side], few: Sequence[Side], rounds: int) -> str:
    """What bfloat16 does for the parts of a step: `sides` in float32 and in it, `few` the same with 2 images."""
    limits = [Limit(dtype) for dtype in (torch.float32, torch.bfloat16)]
    found: list[list[float]] = []
    for _ in range(rounds + 1):
        found.append([limit.speed() / 1e9 for limit in limits])
        found[-1] += [1000 * side.seconds(3) for side in (*sides, *few)]
        for side in sides:
            with Convolutions() as convolutions:
                side.seconds(3)
            found[-1].append(1000 * convolutions.seconds / 3)
    whole, half, *steps, of_whole, of_half = (statistics.median(values) for values in zip(*found[1:], strict=True))
    gain = half / whole
    return (
        f"A bare product makes {whole:.0f} G multiplications a second in float32, {half:.0f} G in bfloat16: {gain:.2f} "
        f"times. At 32 px convolutions are {of_whole:.1f} of {steps[0]:.1f} ms in float32 and {of_half:.1f} of "
        f"{steps[1]:.1f} ms in bfloat16, {of_whole / of_half:.2f} times as fast; the rest is elementwise, casts, calls "
        f"and Adam (a step with 2 images: {steps[2]:.1f} and {steps[3]:.1f} ms). Were convolutions {gain:.2f} times as "
        f"fast and the rest as it is, the step would be {steps[0] / (steps[1] - of_half + of_whole / gain):.2f} times."
    )
