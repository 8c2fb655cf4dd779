"""dSprites, rendered from geometry: 737,280 images of a square, an ellipse or a heart, with five known factors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.cache import CachedArray
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray, Pixels, UnpackBits, halved
from hatchel.data.dsprites_render import PIXELS, SPACE, render, tables
from hatchel.data.factors import Integers
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import open_array
from hatchel.data.source import Source

ORIGINAL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
N = len(SPACE)


class DSprites(Source, kind="dsprites"):
    """2D shapes: shape (3) x scale (6) x orientation (40) x pos_x (32) x pos_y (32), black and white, no download.

    Matthey et al. 2017, regenerated from its geometry; a few dozen pixels in 3·10⁹ may differ from the original file.
    """

    built_in: ClassVar[bool] = True
    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile(
            ORIGINAL,
            (
                f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{ORIGINAL}",
                f"https://github.com/deepmind/dsprites-dataset/raw/master/{ORIGINAL}",
            ),
            "https://github.com/google-deepmind/dsprites-dataset",
        ),
    )
    size: Literal[64, 32] = 64
    "Side length in pixels; 32 is the mean of 2x2 pixels of 64."
    variant: Literal["plain", "colour", "noisy"] = "plain"
    "colour: sprites in a random colour; noisy: on a background of random pixels (Locatello et al. 2019); both RGB."
    seed: int = 0
    "Random seed of the colours or the noise; each item keeps its own."
    cache: bool = local(default=True)
    "Keep the rendered images in the cache folder (378 MB); false renders each batch when it is asked for."
    path: str = local(default="")
    "The original npz file, or a folder with it, to use instead of rendering; empty: render."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (1 if self.variant == "plain" else 3, self.size, self.size)

    def load(self) -> Dataset:
        if self.path:
            array = _original(find_file(self.kind, self.path, self.files[0]))
        else:
            array = _rendered() if self.cache else LazyArray(_packed, (N, 512))
        if self.variant == "plain":
            return Dataset(self.kind, array, SPACE, decode=UnpackBits(self.size))
        plain = Dataset(self.kind, array, SPACE, decode=UnpackBits(64)).images
        return Dataset(f"{self.kind}_{self.variant}", with_nuisance(plain, self.variant, self.seed, self.size), SPACE)


def with_nuisance(plain: Callable[[Integers], Pixels], variant: str, seed: int, size: int) -> LazyArray:
    """Images with a colour or noise that no factor explains, a function of the item and the seed."""

    def make(indices: Integers) -> Pixels:
        white = plain(indices)
        if variant == "colour":
            # Each channel times a number from [0.5, 1].
            shade = 128 + (random_bytes(seed, indices, 8)[:, :3] >> 1)
            images = np.minimum(white, shade[:, None, None])
        else:
            images = np.maximum(white, random_bytes(seed, indices, 64 * 64 * 3).reshape(-1, 64, 64, 3))
        return images if size == 64 else halved(images)

    return LazyArray(make, (N, size, size, 3))


def random_bytes(seed: int, indices: Integers, count: int) -> Pixels:
    """Bytes that depend on the seed and the item only, whatever the batch: (n, count); count a multiple of 8.

    SplitMix64 (Steele et al. 2014), jumped to each word's place.
    """
    step, one, two = (np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    place = indices.astype(np.uint64)[:, None] * np.uint64(count // 8) + np.arange(count // 8, dtype=np.uint64)
    z = (place + np.uint64(seed % 2**24 << 40)) * step
    z ^= z >> np.uint64(30)
    z *= one
    z ^= z >> np.uint64(27)
    z *= two
    z ^= z >> np.uint64(31)
    return z.astype("<u8", copy=False).view(np.uint8)


def _packed(indices: Integers) -> Pixels:
    """One bit a pixel: (n, 512)."""
    return render(indices).astype("<u8", copy=False).view(np.uint8)


def _rendered() -> Pixels:
    def part(start: int, stop: int) -> NDArray[np.uint64]:
        return render(np.arange(start, stop))

    tables()  # once, before the parts are rendered in parallel
    return CachedArray("dsprites", "dsprites 1", (N, PIXELS), "<u8", part, per_part=8192).load().view(np.uint8)


def _original(path: Path) -> Pixels:
    """The images of the original file, packed into the cache; its pickled metadata is not read."""
    images, classes = open_array(path, "imgs"), open_array(path, "latents_classes")
    if images.shape != (N, 64, 64) or images.dtype != np.uint8 or classes.shape != (N, 6):
        raise HatchelError(f"{path} is not dSprites: imgs has the shape {images.shape}; fetch it again")
    if (classes.all()[:, 1:] != SPACE.at(np.arange(N))).any():
        raise HatchelError(f"{path} is not the original dSprites: its factors are in another order")

    def pack(block: NDArray[Any]) -> Pixels:
        return np.packbits(block.reshape(-1, 64 * 64), axis=1, bitorder="little")

    return images.converted("dsprites-original", pack, (N, 512), "u1", cache=True)
