"""MNIST-Rotation: the same digits turned by six angles, one domain an angle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor
from hatchel.data.mnist import DIGITS, Framed, framed, read_half, sampled
from hatchel.data.store import Pixels

ANGLES: tuple[int, ...] = (0, 15, 30, 45, 60, 75)


class MNISTRotation(Framed, kind="mnist_rotation"):
    """Six domains of 1,000 digits each, turned by 0, 15, ..., 75 degrees (Ghifary et al. 2015): angle x digit.

    Item 1000·a + j is digit j turned by the a-th angle, counter-clockwise; each domain has 100 of each digit.
    """

    shares: ClassVar[str] = "mnist"
    seed: int = 0
    "Draws the digits from the training half of MNIST."
    redraw: bool = False
    "Draw other digits for each angle; false turns the same ones, as the authors did."
    angles: tuple[int, ...] = ANGLES
    "The domains shown, so that one can be left out."

    def check(self) -> None:
        """Some of the six, each once."""
        if not self.angles or len(set(self.angles)) < len(self.angles) or not set(self.angles) <= set(ANGLES):
            known = ", ".join(map(str, ANGLES))
            raise HatchelError(f"angles: expected some of {known}, each at most once, got {list(self.angles)}")

    def load(self) -> Dataset:
        """The domains, one after the other."""
        images, labels = read_half("mnist", self.path, "train")
        rng = np.random.default_rng(self.seed)

        def hundred_each() -> list[int]:
            return [int(i) for d in range(10) for i in rng.choice(np.flatnonzero(labels == d), 100, replace=False)]

        first = hundred_each()
        drawn = dict(zip(ANGLES, [first, *(hundred_each() if self.redraw else first for _ in ANGLES[1:])], strict=True))
        turned = np.concatenate([rotated(images[drawn[a]], a) for a in self.angles])
        digits = labels[np.concatenate([drawn[a] for a in self.angles])].astype(np.int64)
        codes = np.stack([np.repeat(np.arange(len(self.angles)), 1000), digits], axis=1)
        angle = Factor("angle", tuple(float(a) for a in self.angles), "cyclic")
        return sampled(self.kind, framed(turned, self.size), (angle, DIGITS), codes)


def rotated(images: Pixels, degrees: float) -> Pixels:
    """Images (n, H, W) turned counter-clockwise about their centre, bilinear, black where nothing was."""
    from scipy import ndimage

    if degrees == 0:
        return images
    # The axes run down and right, so that a turn from the second to the first is counter-clockwise to the eye.
    turned = ndimage.rotate(images.astype(np.float32), degrees, axes=(2, 1), reshape=False, order=1)
    return np.rint(turned).astype(np.uint8)
