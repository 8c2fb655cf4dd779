"""Shapes3D, ray-cast: 480,000 images of an object in a coloured room, with six known factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data import room
from hatchel.data.array import pixels
from hatchel.data.cache import Recipe, cached
from hatchel.data.containers import opened
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.files import RemoteFile, located
from hatchel.data.source import Source
from hatchel.data.store import ArrayStore, DrawnStore, Pixels, halved
from hatchel.data.threads import spread

SPACE = FactorSpace(
    (
        Factor("floor_hue", room.HUES, "cyclic"),
        Factor("wall_hue", room.HUES, "cyclic"),
        Factor("object_hue", room.HUES, "cyclic"),
        Factor("scale", tuple(np.linspace(0.75, 1.25, 8).tolist()), "continuous"),
        Factor("shape", room.SHAPES),
        Factor("orientation", tuple(np.linspace(-30, 30, 15).tolist()), "continuous"),
    )
)
GEOMETRIES = 8 * 4 * 15
CHUNK = 16  # images put together at once: their layers stay in the processor's cache


class Shapes3D(Source, kind="shapes3d"):
    """An object in a room: floor_hue, wall_hue, object_hue (10 each) x scale (8) x shape (4) x orientation (15).

    Burgess and Kim 2018, ray-cast anew: no download; mean absolute difference from the real images about 1/255.
    """

    built_in: ClassVar[bool] = True
    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile(
            "3dshapes.h5",
            ("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
            "https://github.com/google-deepmind/3d-shapes",
        ),
    )
    size: Literal[64, 32] = 64
    "Pixels a side; 32 is the mean of 2x2 pixels of 64."
    cache: bool = local(default=True)
    "Keep the 480 ray-cast geometries in the cache folder (354 MB); false casts them again in each process."
    path: str = local(default="")
    "The original 3dshapes.h5, or a folder with it, to be used instead of casting (5.9 GB in the cache); empty: cast."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        """By the fields alone."""
        return (3, self.size, self.size)

    def load(self) -> Dataset:
        """All combinations of the factors; images are put together from their layers when asked for."""
        if self.path:
            images = _original(located(self.kind, self.path, self.files[0]), self.cache)
            return Dataset(self.kind, ArrayStore(images) if self.size == 64 else Halved(images).store(), SPACE)
        painter = Painter(_kept() if self.cache else _cast(0, GEOMETRIES), self.size)
        return Dataset(self.kind, DrawnStore(painter, len(SPACE), (self.size, self.size, 3)), SPACE)


class Painter:
    """Adds up the three layers of an item's geometry in the item's hues."""

    def __init__(self, layers: NDArray[np.int16], size: int) -> None:
        self.kept = layers.reshape(-1, room.PIXELS**2 * 3)  # (geometry · surface · hue, 64 · 64 · 3)
        self.layers = np.asarray(self.kept)  # without numpy's memory-map class, which is slow on small gathers
        self.size = size

    def __getstate__(self) -> dict[str, Any]:
        return {"layers": ArrayStore(self.kept), "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["layers"].array, state["size"])

    def __call__(self, indices: Integers) -> Pixels:
        """uint8 (n, size, size, 3)."""
        out = np.empty((len(indices), self.layers.shape[1]), dtype=np.uint8)
        spread(lambda start, stop: self._paint(indices[start:stop], out[start:stop]), len(indices), CHUNK)
        images = out.reshape(-1, room.PIXELS, room.PIXELS, 3)
        return images if self.size == room.PIXELS else halved(images)

    def _paint(self, indices: Integers, out: Pixels) -> None:
        hues, geometry = np.divmod(indices, GEOMETRIES)
        first = geometry * 30
        light = self.layers.take(first + hues // 100, axis=0)
        light += self.layers.take(first + 10 + hues // 10 % 10, axis=0)
        light += self.layers.take(first + 20 + hues % 10, axis=0)
        light += room.STEPS // 2
        light >>= room.STEPS.bit_length() - 1
        np.copyto(out, np.clip(light, 0, 255, out=light), casting="unsafe")


class Halved:
    """The original images at half their size, reduced when asked for."""

    def __init__(self, images: Pixels) -> None:
        self.images = ArrayStore(images)

    def store(self) -> DrawnStore:
        """As a store."""
        return DrawnStore(self, len(self.images), (32, 32, 3))

    def __call__(self, indices: Integers) -> Pixels:
        """uint8 (n, 32, 32, 3)."""
        return halved(self.images.take(indices))


def _original(path: Path, cache: bool) -> Pixels:
    images, labels = opened(path, "images"), opened(path, "labels")
    if images.shape != (len(SPACE), 64, 64, 3) or labels.shape != (len(SPACE), len(SPACE.sizes)):
        raise HatchelError(f"{path} is not 3dshapes: images has the shape {images.shape}; fetch it again")
    return pixels(images, cache)


def _kept() -> NDArray[np.int16]:
    shape = (GEOMETRIES, 3, len(room.HUES), room.PIXELS, room.PIXELS, 3)
    return cached(Recipe("shapes3d", "shapes3d 1", shape, "<i2", _cast, per_part=SPACE.sizes[-1]))


def _cast(start: int, stop: int) -> NDArray[np.int16]:
    scale, shape, view = np.unravel_index(np.arange(start, stop), SPACE.sizes[3:])
    scales, views = np.linspace(0.75, 1.25, 8)[scale], np.linspace(-30, 30, 15)[view]
    return np.stack([room.layers(s, room.SHAPES[k], v) for s, k, v in zip(scales, shape, views, strict=True)])
