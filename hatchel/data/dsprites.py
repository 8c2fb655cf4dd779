"""dSprites, drawn from geometry: 737,280 images of a square, an ellipse or a heart, with five known factors."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.data import sprites
from hatchel.data.cache import Recipe, cached
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.data.store import BitStore
from hatchel.spec import local


class DSprites(Source, kind="dsprites"):
    """2D shapes: shape (3) x scale (6) x orientation (40) x pos_x (32) x pos_y (32), black and white, no download.

    Matthey et al. 2017, regenerated from its geometry.
    """

    size: Literal[64, 32] = 64
    "Pixels a side; 32 is the mean of 2x2 pixels of 64."
    cache: bool = local(default=True)
    "Keep the drawn set in the cache folder (378 MB); false draws each batch when it is asked for."

    def load(self) -> Dataset:
        """All combinations of the factors."""
        store = BitStore(_kept() if self.cache else sprites.render, len(sprites.SPACE), self.size)
        return Dataset(self.kind, store, sprites.SPACE)


def _kept() -> NDArray[np.uint64]:
    def part(start: int, stop: int) -> NDArray[np.uint64]:
        return sprites.render(np.arange(start, stop))

    sprites.tables()  # once, before the parts are drawn in parallel
    return cached(Recipe("dsprites", "dsprites 1", (len(sprites.SPACE), sprites.PIXELS), "<u8", part, per_part=8192))
