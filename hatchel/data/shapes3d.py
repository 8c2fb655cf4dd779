"""Shapes3D, ray-cast: 480,000 images of an object in a coloured room, with six known factors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.array import pixels
from hatchel.data.cache import CachedArray
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray, Pixels, halved, in_chunks
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import open_array
from hatchel.data.shapes3d_render import HUES, PIXELS, SHAPES, STEPS, render_layers
from hatchel.data.source import Source

SPACE = FactorSpace(
    (
        Factor("floor_hue", HUES, "cyclic"),
        Factor("wall_hue", HUES, "cyclic"),
        Factor("object_hue", HUES, "cyclic"),
        Factor("scale", tuple(np.linspace(0.75, 1.25, 8).tolist()), "continuous"),
        Factor("shape", SHAPES),
        Factor("orientation", tuple(np.linspace(-30, 30, 15).tolist()), "continuous"),
    )
)
GEOMETRIES = 8 * 4 * 15
CHUNK = 16  # images put together at once: their layers stay in the processor's cache
FEW, ALONE = 8, 64
"""Items at once, and geometries altogether, that are rendered alone before all 480 are (a tenth of a second each)."""
FINGERPRINTS = {32: "211887064489d116", 64: "7627fd47e97bb602"}
"""Of the rendered images by size: known, so that a trained run opens before anything is rendered."""


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
    "Side length in pixels; 32 is the mean of 2x2 pixels of 64."
    cache: bool = local(default=True)
    "Keep the 480 rendered geometries in the cache folder (354 MB); false renders them again in each process."
    path: str = local(default="")
    "The original 3dshapes.h5, or a folder with it, to use instead of rendering (5.9 GB in the cache); empty: render."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, self.size, self.size)

    def load(self) -> Dataset:
        shape = (len(SPACE), self.size, self.size, 3)
        if self.path:
            images = _original(find_file(self.kind, self.path, self.files[0]), self.cache)
            small = LazyArray(lambda indices: halved(images.take(indices, axis=0)), shape)
            return Dataset(self.kind, images if self.size == 64 else small, SPACE)
        layers = Layers(_cached_layers if self.cache else lambda: _cast(0, GEOMETRIES), self.size)
        return Dataset(self.kind, LazyArray(layers.images, shape), SPACE, known=FINGERPRINTS[self.size])


class Layers:
    """The light of each surface of each geometry in each hue; an image is the sum of three of them."""

    def __init__(self, make: Callable[[], NDArray[np.int16]], size: int) -> None:
        self.make = make
        self.size = size
        self.alone = dict[int, NDArray[np.int16]]()

    @functools.cached_property
    def layers(self) -> NDArray[np.int16]:
        """(geometry · surface · hue, 64 · 64 · 3), had when they are first needed."""
        # Without numpy's memory-map class, which is slow on small gathers.
        return np.asarray(self.make().reshape(-1, PIXELS**2 * 3))

    def images(self, indices: Integers) -> Pixels:
        """uint8 (n, size, size, 3)."""
        hues, geometry = np.divmod(indices, GEOMETRIES)
        if self._a_few(geometry):
            found = [self._one(g) for g in geometry.tolist()]
            layers, geometry = np.concatenate(found).reshape(-1, PIXELS**2 * 3), np.arange(len(found))
        else:
            layers = self.layers
        out = np.empty((len(indices), layers.shape[1]), dtype=np.uint8)

        def add(start: int, stop: int) -> None:
            _add(layers, hues[start:stop], geometry[start:stop], out[start:stop])

        in_chunks(add, len(indices), CHUNK)
        images = out.reshape(-1, PIXELS, PIXELS, 3)
        return images if self.size == PIXELS else halved(images)

    def _one(self, geometry: int) -> NDArray[np.int16]:
        if geometry not in self.alone:
            self.alone[geometry] = _cast(geometry, geometry + 1)
        return self.alone[geometry]

    def _a_few(self, geometry: Integers) -> bool:
        """Whether somebody looks at single items and nothing is kept yet: all would take half a minute."""
        if "layers" in vars(self) or not 0 < len(geometry) <= FEW or len(self.alone) + len(geometry) > ALONE:
            return False
        return self.make is _cached_layers and not _cache().kept


def _add(layers: NDArray[np.int16], hues: Integers, geometry: Integers, out: Pixels) -> None:
    first = geometry * 30
    light = layers.take(first + hues // 100, axis=0)
    light += layers.take(first + 10 + hues // 10 % 10, axis=0)
    light += layers.take(first + 20 + hues % 10, axis=0)
    light += STEPS // 2
    light >>= STEPS.bit_length() - 1
    np.copyto(out, np.clip(light, 0, 255, out=light), casting="unsafe")


def _original(path: Path, cache: bool) -> Pixels:
    images, labels = open_array(path, "images"), open_array(path, "labels")
    if images.shape != (len(SPACE), 64, 64, 3) or labels.shape != (len(SPACE), len(SPACE.sizes)):
        raise HatchelError(f"{path} is not 3dshapes: images has the shape {images.shape}; fetch it again")
    return pixels(images, cache)


def _cache() -> CachedArray:
    shape = (GEOMETRIES, 3, len(HUES), PIXELS, PIXELS, 3)
    return CachedArray("shapes3d", "shapes3d 1", shape, "<i2", _cast, per_part=SPACE.sizes[-1])


def _cached_layers() -> NDArray[np.int16]:
    return _cache().load()


def _cast(start: int, stop: int) -> NDArray[np.int16]:
    scale, shape, view = np.unravel_index(np.arange(start, stop), SPACE.sizes[3:])
    scales, views = np.linspace(0.75, 1.25, 8)[scale], np.linspace(-30, 30, 15)[view]
    return np.stack([render_layers(s, SHAPES[k], v) for s, k, v in zip(scales, shape, views, strict=True)])
