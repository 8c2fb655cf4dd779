"""MNIST-Rotation: the same digits turned by six angles, one domain an angle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor
from hatchel.data.mnist import DIGITS, Framed, framed, read_half, sampled
from hatchel.data.store import Pixels

ANGLES = (0, 15, 30, 45, 60, 75)


class MNISTRotation(Framed, kind="mnist_rotation"):
    """Six domains of 1,000 digits each, turned by 0, 15, ..., 75 degrees (Ghifary et al. 2015): angle x digit.

    Item 1000·a + j is digit j turned by angle a, counter-clockwise; each domain has 100 of each digit.
    """

    shares: ClassVar[str] = "mnist"
    seed: int = 0
    "Draws the digits from the training half of MNIST."
    redraw: bool = False
    "Draw other digits for each angle; false turns the same ones, as the authors did."

    def load(self) -> Dataset:
        """All six domains, one after the other."""
        images, labels = read_half("mnist", self.path, "train")
        rng = np.random.default_rng(self.seed)

        def hundred_each() -> list[int]:
            return [int(i) for d in range(10) for i in rng.choice(np.flatnonzero(labels == d), 100, replace=False)]

        first = hundred_each()
        chosen = [first, *(hundred_each() if self.redraw else first for _ in ANGLES[1:])]
        turned = np.concatenate([rotated(images[c], a) for c, a in zip(chosen, ANGLES, strict=True)])
        digits = labels[np.concatenate(chosen)].astype(np.int64)
        codes = np.stack([np.repeat(np.arange(len(ANGLES)), 1000), digits], axis=1)
        angle = Factor("angle", tuple(float(a) for a in ANGLES), "cyclic")
        return sampled(self.kind, framed(turned, self.size), (angle, DIGITS), codes)


def rotated(images: Pixels, degrees: float) -> Pixels:
    """Images (n, H, W) turned counter-clockwise about their centre, bilinear, black where nothing was."""
    from scipy import ndimage

    if degrees == 0:
        return images
    # The axes run down and right, so that a turn from the second to the first is counter-clockwise to the eye.
    turned = ndimage.rotate(images.astype(np.float32), degrees, axes=(2, 1), reshape=False, order=1)
    return np.rint(turned).astype(np.uint8)
