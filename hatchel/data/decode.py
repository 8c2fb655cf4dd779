"""Decode: stored items as pixels, and as the float32 batches that a model reads, in chunks between threads."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hatchel.data.factors import Integers

if TYPE_CHECKING:
    from torch import Tensor

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]
MIN_ITEMS = 512  # items below which threads cost more than they save


@dataclass(frozen=True)
class LazyArray:
    """An array whose items are made when they are asked for: rendered, recoloured or decoded from files."""

    make: Callable[[Integers], NDArray[Any]]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]


class Decode:
    """For items that are stored as they are: images uint8 (n, H, W, C), or table rows float32 (n, F)."""

    def shape(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        """(H, W, C) or (F,) of one item, from the shape of a stored one."""
        return stored

    def items(self, stored: NDArray[Any]) -> NDArray[Any]:
        """uint8 (n, H, W, C), or rows (n, F)."""
        return stored

    def batch(self, stored: NDArray[Any]) -> Floats:
        """What a model on the processor reads: float32 (n, C, H, W) in [0, 1], channels last in memory, or (n, F).

        By numpy: torch splits even 0.1 ms of work between threads, and waits for them on busy machines.
        """
        if stored.ndim == 2:
            return stored
        floats = np.empty(stored.shape, dtype=np.float32)

        def divide(start: int, stop: int) -> None:
            np.divide(stored[start:stop], np.float32(255), out=floats[start:stop], dtype=np.float32)

        in_chunks(divide, len(floats), 16)
        return floats.transpose(0, 3, 1, 2)

    def batch_on_device(self, stored: Tensor) -> Tensor:
        """The same with operations that every device has."""
        return stored if stored.ndim == 2 else stored.float().div_(255).permute(0, 3, 1, 2)


class UnpackBits(Decode):
    """For binary 64x64 images of one bit a pixel, uint8 (n, 512); at 32 px each pixel is the mean of four."""

    def __init__(self, size: int) -> None:
        self.size = size

    def shape(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        return (self.size, self.size, 1)

    def items(self, stored: NDArray[Any]) -> Pixels:
        flat = (
            np.unpackbits(stored, bitorder="little") * np.uint8(255)
            if self.size == 64
            else self._look_up(stored, _GREY)
        )
        return flat.reshape(-1, self.size, self.size, 1)

    def batch(self, stored: NDArray[Any]) -> Floats:
        return self._look_up(stored, _FLOATS[self.size]).reshape(-1, 1, self.size, self.size)

    def batch_on_device(self, stored: Tensor) -> Tensor:
        import torch

        images = ((stored[..., None] >> torch.arange(8, device=stored.device)) & 1).float().reshape(-1, 1, 64, 64)
        if self.size == 32:
            return torch.nn.functional.avg_pool2d(images, 2).mul_(255).round_().div_(255)
        return images

    def _look_up(self, packed: Pixels, table: NDArray[Any]) -> NDArray[Any]:
        """By a table of several pixels a byte: much faster than shifts, which make eight integers first.

        Few calls, and methods rather than numpy's functions around them: between batches a call from Python was
        measured to cost several times what it costs alone, a fifth of a batch of 64 in all.
        """
        codes = packed if self.size == 64 else _block_counts(packed)
        out = np.empty((len(codes), 512, table.shape[1]), dtype=table.dtype)

        def look_up(start: int, stop: int) -> None:
            table.take(codes[start:stop].astype(np.intp), axis=0, out=out[start:stop], mode="wrap")

        in_chunks(look_up, len(codes), 64)
        return out


def halved(images: Pixels) -> Pixels:
    """The mean of each 2x2 block, rounded half up: (n, 2H, 2W, C) -> (n, H, W, C)."""
    rows = images[:, ::2].astype(np.uint16) + images[:, 1::2]
    return ((rows[:, :, ::2] + rows[:, :, 1::2] + 2) >> 2).astype(np.uint8)


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


_QUARTERS = np.array([0, 64, 128, 191, 255], dtype=np.uint8)  # the grey of a block of which k of four pixels are white
_GREY = _QUARTERS[np.minimum(np.arange(256)[:, None] >> (0, 4) & 15, 4)]
_FLOATS = {
    64: np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32),
    32: _GREY.astype(np.float32) / np.float32(255),
}


def _block_counts(packed: Pixels) -> Pixels:
    """White pixels in each 2x2 block, two blocks a byte, counted many at a time inside machine words: (n, 512)."""

    def mask(byte: int) -> np.uint64:
        return np.uint64(byte * 0x0101010101010101)

    words = packed.view("<u8").reshape(-1, 32, 2)
    pairs = (words & mask(0x55)) + (words >> np.uint64(1) & mask(0x55))  # 2 bits a pair of pixels side by side
    upper, lower = pairs[..., 0], pairs[..., 1]
    even = (upper & mask(0x33)) + (lower & mask(0x33))  # 4 bits a block: columns 0, 2, 4, ...
    odd = (upper >> np.uint64(2) & mask(0x33)) + (lower >> np.uint64(2) & mask(0x33))
    first = even & mask(0x0F) | (odd & mask(0x0F)) << np.uint64(4)  # columns 0 and 1, 4 and 5, ...
    second = even >> np.uint64(4) & mask(0x0F) | odd & mask(0xF0)
    return np.stack([w.astype("<u8", copy=False).view(np.uint8) for w in (first, second)], axis=-1).reshape(-1, 512)


def _threads() -> int:
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else os.cpu_count() or 1


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "hatchel-data")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the threads stay behind with the parent
