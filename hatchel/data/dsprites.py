"""dSprites, drawn from geometry: 737,280 images of a square, an ellipse or a heart, with five known factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data import sprites
from hatchel.data.cache import Part, Recipe, cached
from hatchel.data.containers import opened
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Integers
from hatchel.data.files import RemoteFile, located
from hatchel.data.source import Source
from hatchel.data.store import BitStore, DrawnStore, Pixels, halved

ORIGINAL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
N = len(sprites.SPACE)


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
    "Pixels a side; 32 is the mean of 2x2 pixels of 64."
    variant: Literal["plain", "colour", "noisy"] = "plain"
    "colour: sprites in a random colour; noisy: on a background of random pixels (Locatello et al. 2019); both RGB."
    seed: int = 0
    "Draws the colours or the noise; each item keeps its own."
    cache: bool = local(default=True)
    "Keep the drawn set in the cache folder (378 MB); false draws each batch when it is asked for."
    path: str = local(default="")
    "The original npz file, or a folder with it, to be used instead of drawing; empty: draw."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        """By the fields alone."""
        return (1 if self.variant == "plain" else 3, self.size, self.size)

    def load(self) -> Dataset:
        """All combinations of the factors."""
        words = _original(located(self.kind, self.path, self.files[0])) if self.path else None
        if words is None:
            words = _drawn() if self.cache else sprites.render
        if self.variant == "plain":
            return Dataset(self.kind, BitStore(words, N, self.size), sprites.SPACE)
        paint = Nuisance(BitStore(words, N, 64), self.variant, self.seed, self.size)
        return Dataset(f"{self.kind}_{self.variant}", DrawnStore(paint, N, (self.size, self.size, 3)), sprites.SPACE)


class Nuisance:
    """Colour or noise that no factor explains, a function of the item and the seed."""

    def __init__(self, store: BitStore, variant: str, seed: int, size: int) -> None:
        self.store = store
        self.variant = variant
        self.seed = seed
        self.size = size

    def __call__(self, indices: Integers) -> Pixels:
        """uint8 (n, size, size, 3)."""
        white = self.store.take(indices)
        if self.variant == "colour":
            # Each channel times a number from [0.5, 1].
            shade = 128 + (random_bytes(self.seed, indices, 8)[:, :3] >> 1)
            images = np.minimum(white, shade[:, None, None])
        else:
            images = np.maximum(white, random_bytes(self.seed, indices, 64 * 64 * 3).reshape(-1, 64, 64, 3))
        return images if self.size == 64 else halved(images)


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


def _drawn() -> NDArray[np.uint64]:
    def part(start: int, stop: int) -> NDArray[np.uint64]:
        return sprites.render(np.arange(start, stop))

    sprites.tables()  # once, before the parts are drawn in parallel
    return cached(Recipe("dsprites", "dsprites 1", (N, sprites.PIXELS), "<u8", part, per_part=8192))


def _original(path: Path) -> NDArray[np.uint64]:
    """The images of the original file, packed into the cache; its pickled metadata is not read."""
    images, classes = opened(path, "imgs"), opened(path, "latents_classes")
    if images.shape != (N, 64, 64) or images.dtype != np.uint8 or classes.shape != (N, 6):
        raise HatchelError(f"{path} is not dSprites: imgs has the shape {images.shape}; fetch it again")
    if (classes.all()[:, 1:] != sprites.SPACE.at(np.arange(N))).any():
        raise HatchelError(f"{path} is not the original dSprites: its factors are in another order")
    read: list[Part] = []

    def part(start: int, stop: int) -> NDArray[Any]:
        if start == 0:
            read[:] = [images.reader()]
        bits = np.packbits(read[0](start, stop).reshape(-1, 64 * 64), axis=1, bitorder="little")
        return bits.view("<u8")

    key = f"dsprites original 1 {images.identity}"
    return cached(Recipe("dsprites-original", key, (N, 64), "<u8", part, per_part=4096, in_order=True))
