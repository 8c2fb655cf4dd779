"""Stores: where the items of a data set lie, and the two questions asked of them: pixels, and batches for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hatchel.data.factors import Integers
from hatchel.data.threads import spread

if TYPE_CHECKING:
    from torch import Tensor

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]
Words = Callable[[Integers], NDArray[np.uint64]]
FITS = 2 << 30  # bytes that may be copied to a device once, so that batches are gathered there


class Store(ABC):
    """Items by number."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of one item as `take` gives it: (H, W, C), or (F,) for rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, indices: Integers) -> NDArray[Any]:
        """uint8 (n, H, W, C), or float32 (n, F)."""

    @abstractmethod
    def batch(self, indices: Integers) -> Floats:
        """What a model on the processor reads: float32 (n, C, H, W) in [0, 1], or (n, F)."""

    @abstractmethod
    def gatherer(self, device: str) -> Callable[[Tensor], Tensor]:
        """Item numbers to what `take` gives, as a tensor on the device (bits may still be packed: see `finish`)."""

    @abstractmethod
    def finish(self, batch: Tensor) -> Tensor:
        """What the gatherer gave as float32 (n, C, H, W) in [0, 1], or (n, F)."""


class ArrayStore(Store):
    """Images (N, H, W, C) or rows (N, F) in an array, in memory or memory-mapped."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __getstate__(self) -> dict[str, Any]:
        # A worker process opens a memory map by its name; pickled as it is, the whole array would travel.
        a = root = self.array
        while isinstance(root.base, np.memmap):  # a view has the offset of what it is a view of
            root = root.base
        if isinstance(a, np.memmap) and isinstance(root, np.memmap) and a.filename and a.flags.c_contiguous:
            offset = root.offset + a.ctypes.data - root.ctypes.data
            return {"file": (str(a.filename), a.dtype.str, offset, a.shape)}
        return {"array": a}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "file" in state:
            name, dtype, offset, shape = state["file"]
            self.array = np.memmap(name, dtype=dtype, mode="r", offset=offset, shape=shape)
        else:
            self.array = state["array"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one item."""
        return self.array.shape[1:]

    def __len__(self) -> int:
        return len(self.array)

    def take(self, indices: Integers) -> NDArray[Any]:
        """uint8 (n, H, W, C), or float32 (n, F)."""
        return np.asarray(np.take(self.array, indices, axis=0))

    def batch(self, indices: Integers) -> Floats:
        """Scaled to [0, 1], channels last."""
        return divided(self.take(indices))

    def gatherer(self, device: str) -> Callable[[Tensor], Tensor]:
        """By index on the device if the array fits there."""
        return _on_device(self.array, self.take, device)

    def finish(self, batch: Tensor) -> Tensor:
        """Scaled to [0, 1], channels last."""
        return scaled(batch)


class BitStore(Store):
    """Binary 64x64 images of one bit a pixel: 64 words of 64 bits, in an array or drawn when asked for.

    At 32 px each pixel is the mean of four (a box filter).
    """

    def __init__(self, words: Words | NDArray[np.uint64], n: int, size: int) -> None:
        self.words = words
        self.n = n
        self.size = size
        self._kept: Pixels | None = None
        self._packed: Callable[[Integers], Pixels]  # (n, 512)
        if isinstance(words, np.ndarray):
            # The same memory without numpy's memory-map class, which costs more than gathering a small batch does.
            self._kept = kept = np.asarray(words).astype("<u8", copy=False).view(np.uint8)
            self._packed = lambda indices: kept.take(indices, axis=0)
        else:
            self._packed = lambda indices: words(indices).astype("<u8", copy=False).view(np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        words = ArrayStore(self.words) if isinstance(self.words, np.ndarray) else self.words
        return {"words": words, "n": self.n, "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        words = state["words"]
        self.__init__(words.array if isinstance(words, ArrayStore) else words, state["n"], state["size"])

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image."""
        return (self.size, self.size, 1)

    def __len__(self) -> int:
        return self.n

    def take(self, indices: Integers) -> Pixels:
        """uint8 (n, H, W, 1)."""
        bits = np.unpackbits(self._packed(indices), bitorder="little")
        images = bits.reshape(-1, 64, 64)
        if self.size == 32:
            return halved((images * np.uint8(255))[..., None])
        return (images * np.uint8(255))[..., None]

    def batch(self, indices: Integers) -> Floats:
        """Unpacked to 0.0 and 1.0, or to the means of four."""
        return looked_up(self._packed(indices), self.size)

    def gatherer(self, device: str) -> Callable[[Tensor], Tensor]:
        """Packed bytes (n, 512) on the device; all of them are kept there if they fit."""
        return _on_device(self._kept, self._packed, device)

    def finish(self, batch: Tensor) -> Tensor:
        """Unpacked to 0.0 and 1.0, or to the means of four."""
        return unpacked(batch, self.size)


class DrawnStore(Store):
    """Images made from their numbers when asked for (rendered, decoded, recoloured)."""

    def __init__(self, draw: Callable[[Integers], Pixels], n: int, shape: tuple[int, int, int]) -> None:
        self.draw = draw
        self.n = n
        self.size = shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image."""
        return self.size

    def __len__(self) -> int:
        return self.n

    def take(self, indices: Integers) -> Pixels:
        """uint8 (n, H, W, C)."""
        return self.draw(indices)

    def batch(self, indices: Integers) -> Floats:
        """Scaled to [0, 1], channels last."""
        return divided(self.take(indices))

    def gatherer(self, device: str) -> Callable[[Tensor], Tensor]:
        """Made on the processor, sent as bytes."""
        return _on_device(None, self.take, device)

    def finish(self, batch: Tensor) -> Tensor:
        """Scaled to [0, 1], channels last."""
        return scaled(batch)


QUARTERS = np.array([0, 64, 128, 191, 255], dtype=np.uint8)
"""255 k/4, rounded: the grey of a 32 px pixel under which k of four pixels are white."""


def halved(images: Pixels) -> Pixels:
    """The mean of each 2x2 block, rounded half up: (n, 2H, 2W, C) -> (n, H, W, C)."""
    rows = images[:, ::2].astype(np.uint16) + images[:, 1::2]
    return ((rows[:, :, ::2] + rows[:, :, 1::2] + 2) >> 2).astype(np.uint8)


def scaled(batch: Tensor) -> Tensor:
    """uint8 (n, H, W, C) as float32 (n, C, H, W) in [0, 1], the channels last in memory; rows stay as they are."""
    import torch

    if batch.device.type == "cpu":
        return torch.from_numpy(divided(batch.numpy()))
    return batch if batch.ndim == 2 else batch.float().div_(255).permute(0, 3, 1, 2)


def divided(pixels: NDArray[Any]) -> Floats:
    """The same by numpy: torch shares out even 0.1 ms of work, and waits for its threads on busy machines."""
    if pixels.ndim == 2:
        return pixels
    floats = np.empty(pixels.shape, dtype=np.float32)

    def divide(start: int, stop: int) -> None:
        np.divide(pixels[start:stop], np.float32(255), out=floats[start:stop], dtype=np.float32)

    spread(divide, len(floats), 16)
    return floats.transpose(0, 3, 1, 2)


def unpacked(batch: Tensor, size: int) -> Tensor:
    """Bytes (n, 512) as float32 (n, 1, size, size)."""
    import torch

    return torch.from_numpy(looked_up(batch.numpy(), size)) if batch.device.type == "cpu" else shifted(batch, size)


def looked_up(packed: Pixels, size: int) -> Floats:
    """The same by a table of several floats a byte: much faster than shifts, which make eight integers first.

    Few calls, and methods rather than numpy's functions around them: between batches a call from Python was measured
    to cost several times what it costs alone, a fifth of a batch of 64 in all.
    """
    table, codes = (_EIGHT, packed) if size == 64 else (_TWO, _counts(packed))
    floats = np.empty((len(codes), 512, table.shape[1]), dtype=np.float32)

    def look_up(start: int, stop: int) -> None:
        table.take(codes[start:stop].astype(np.intp), axis=0, out=floats[start:stop], mode="wrap")

    spread(look_up, len(codes), 64)
    return floats.reshape(-1, 1, size, size)


def shifted(batch: Tensor, size: int) -> Tensor:
    """The same with operations that every device has."""
    import torch

    images = ((batch[..., None] >> torch.arange(8, device=batch.device)) & 1).float().reshape(-1, 1, 64, 64)
    if size == 32:
        return torch.nn.functional.avg_pool2d(images, 2).mul_(255).round_().div_(255)
    return images


_EIGHT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32)
_TWO = (QUARTERS.astype(np.float32) / np.float32(255))[np.minimum(np.arange(256)[:, None] >> (0, 4) & 15, 4)]


def _counts(batch: Pixels) -> Pixels:
    """White pixels in each 2x2 block, two blocks a byte, counted many at a time inside machine words: (n, 512)."""

    def mask(byte: int) -> np.uint64:
        return np.uint64(byte * 0x0101010101010101)

    words = batch.view("<u8").reshape(-1, 32, 2)
    pairs = (words & mask(0x55)) + (words >> np.uint64(1) & mask(0x55))  # 2 bits a pair of pixels side by side
    upper, lower = pairs[..., 0], pairs[..., 1]
    even = (upper & mask(0x33)) + (lower & mask(0x33))  # 4 bits a block: columns 0, 2, 4, ...
    odd = (upper >> np.uint64(2) & mask(0x33)) + (lower >> np.uint64(2) & mask(0x33))
    first = even & mask(0x0F) | (odd & mask(0x0F)) << np.uint64(4)  # columns 0 and 1, 4 and 5, ...
    second = even >> np.uint64(4) & mask(0x0F) | odd & mask(0xF0)
    return np.stack([w.astype("<u8", copy=False).view(np.uint8) for w in (first, second)], axis=-1).reshape(-1, 512)


def _on_device(
    array: NDArray[Any] | None, take: Callable[[Integers], NDArray[Any]], device: str
) -> Callable[[Tensor], Tensor]:
    import torch

    if device != "cpu" and array is not None and array.nbytes <= FITS:
        kept = torch.from_numpy(np.array(array)).to(device)
        return lambda indices: kept.index_select(0, indices.to(device))
    if device == "cpu":
        return lambda indices: torch.from_numpy(take(indices.numpy(force=True)))
    return lambda indices: torch.from_numpy(take(indices.numpy(force=True))).to(device, non_blocking=True)
