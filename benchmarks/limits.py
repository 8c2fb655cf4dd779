"""What bounds a training step on one core: bare products, convolutions by themselves, calls."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from encoders import Side

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


def halves(few: Sequence[Side], rounds: int) -> str:
    """What bfloat16 does for the parts of a step; `few`: a step with 2 images in float32 and in bfloat16."""
    kinds = (torch.float32, torch.bfloat16)
    limits, passes = [Limit(dtype) for dtype in kinds], [convolution(dtype) for dtype in kinds]
    speeds, gains, calls = list[list[float]](), list[list[float]](), list[list[float]]()
    for _ in range(rounds + 1):
        speeds.append([limit.speed() / 1e9 for limit in limits])
        gains.append([taken(whole) / taken(half) for whole, half in zip(*passes, strict=True)])
        calls.append([1000 * side.seconds(3) for side in few])
    whole, half = (statistics.median(s) for s in zip(*speeds[1:], strict=True))
    forward, to_inputs, to_weights = (statistics.median(g) for g in zip(*gains[1:], strict=True))
    fixed = [statistics.median(c) for c in zip(*calls[1:], strict=True)]
    return (
        f"A bare product makes {whole:.0f} G multiplications a second in float32, {half:.0f} G in bfloat16: "
        f"{half / whole:.2f} times. oneDNN's convolution (4x4, stride 2, 32 to 64 channels, 16x16, batch 64) is "
        f"{forward:.2f} times as fast forward, {to_inputs:.2f} to its inputs, {to_weights:.2f} to its weights. With 2 "
        f"images a step takes {fixed[0]:.1f} ms in float32 and {fixed[1]:.1f} in bfloat16: calls, layouts of weights "
        "and Adam, which a step of 64 images has too."
    )


def convolution(dtype: torch.dtype) -> list[Callable[[], object]]:
    """A convolution forward, to its inputs and to its weights."""
    x, weight, gradient = (
        torch.randn(shape).to(dtype, memory_format=torch.channels_last)
        for shape in ((64, 32, 16, 16), (64, 32, 4, 4), (64, 64, 8, 8))
    )
    back = functools.partial(
        torch.ops.aten.convolution_backward, gradient, x, weight, None, (2, 2), (1, 1), (1, 1), False, (0, 0), 1
    )
    forward = functools.partial(torch.nn.functional.conv2d, x, weight, None, 2, 1)
    return [forward, lambda: back((True, False, False)), lambda: back((False, True, False))]


def taken(call: Callable[[], object]) -> float:
    began = time.process_time()
    for _ in range(4):
        call()
    return time.process_time() - began
