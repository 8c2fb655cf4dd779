"""XYSquares: white squares on a grid of places, a tiny data set for tests."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.source import Source


class XYSquares(Source, kind="xy_squares"):
    """White squares that move on a grid: factors x and y of each; for tests and first trials.

    Square s covers the pixels [side·x, side·(x+1)) x [side·y, side·(y+1)) of channel s, with side = size / places; two
    squares leave the third channel black.
    """

    built_in: ClassVar[bool] = True
    size: Count = 64
    "Side length in pixels."
    places: Count = 8
    "Places along each side; neighbouring places touch and do not overlap."
    squares: Literal[1, 2, 3] = 1
    "One grey square, or two or three in colours of their own."

    def check(self) -> None:
        if self.size % self.places:
            raise HatchelError(f"size={self.size} is not a multiple of places={self.places}")
        if self.places ** (2 * self.squares) * self.size**2 > 1 << 28:
            raise HatchelError(f"{self.squares} squares with places={self.places} are too many; use fewer places")

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (1 if self.squares == 1 else 3, self.size, self.size)

    def load(self) -> Dataset:
        marks = [""] if self.squares == 1 else [f"_{s}" for s in range(self.squares)]
        values = tuple(float(v) for v in range(self.places))
        space = FactorSpace(tuple(Factor(f"{axis}{mark}", values, "continuous") for mark in marks for axis in "xy"))
        codes = space.at(np.arange(len(space))).reshape(len(space), self.squares, 2)
        pixel = np.arange(self.size) // (self.size // self.places)
        across = codes[:, None, None, :, 0] == pixel[:, None]  # (N, 1, W, squares)
        down = codes[:, None, None, :, 1] == pixel[:, None, None]  # (N, H, 1, squares)
        images = np.zeros((len(space), self.size, self.size, 1 if self.squares == 1 else 3), dtype=np.uint8)
        images[..., : self.squares] = (across & down) * np.uint8(255)
        return Dataset(self.kind, images, space)
