"""Pruned MNIST: digits without the thick sevens and the narrow zeros, to see whether a model can put them together."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Share
from hatchel.data.dataset import Dataset
from hatchel.data.mnist import DIGITS, Framed, framed, read_half, sampled
from hatchel.data.store import Pixels


class PrunedMNIST(Framed, kind="pruned_mnist"):
    """MNIST without the sevens of thickest stroke and the zeros of narrowest shape (Esmaeili et al. 2019, Fig. 9).

    The paper does not say how much it prunes or how it measures; here thickness and width are measured in the image.
    """

    shares: ClassVar[str] = "mnist"
    part: Literal["kept", "removed"] = "kept"
    "What is left for training, or what was taken out."
    thick: Share = 0.25
    "The share of the sevens, the thickest, that is taken out."
    narrow: Share = 0.25
    "The share of the zeros, the narrowest, that is taken out."

    def load(self) -> Dataset:
        """Digits of the training half."""
        images, labels = read_half("mnist", self.path, "train")
        removed = np.zeros(len(labels), dtype=bool)
        sevens, zeros = np.flatnonzero(labels == 7), np.flatnonzero(labels == 0)
        thickest = np.argsort(-thickness(images[sevens]), kind="stable")[: round(self.thick * len(sevens))]
        narrowest = np.argsort(width(images[zeros]), kind="stable")[: round(self.narrow * len(zeros))]
        removed[sevens[thickest]] = removed[zeros[narrowest]] = True
        chosen = np.flatnonzero(removed == (self.part == "removed"))
        return sampled(
            self.kind, framed(images[chosen], self.size), (DIGITS,), labels[chosen].astype(np.int64)[:, None]
        )


def thickness(images: Pixels) -> NDArray[np.float64]:
    """The stroke's thickness in pixels, 2 ∫f / ∫|∇f|: (n, H, W) -> (n,).

    A stroke of length L and thickness w has the area L·w and, by the co-area formula, the outline ∫|∇f| = 2(L + w).
    """
    f = np.pad(images, ((0, 0), (1, 1), (1, 1))) / 255.0
    across = np.diff((f[:, 1:] + f[:, :-1]) / 2, axis=2)  # both gradients at the corners where four pixels meet
    down = np.diff((f[:, :, 1:] + f[:, :, :-1]) / 2, axis=1)
    outline = np.hypot(across, down).sum(axis=(1, 2))
    return 2 * f.sum(axis=(1, 2)) / np.maximum(outline, 1e-12)


def width(images: Pixels) -> NDArray[np.float64]:
    """The character's width in pixels, between the places where its darkest ink per column passes one half: (n,)."""
    column = np.pad(images, ((0, 0), (0, 0), (1, 1))).max(axis=1) / 255.0  # (n, W + 2)
    return _last(column) + _last(column[:, ::-1]) - (column.shape[1] - 1)


def _last(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a line falls below one half for good, between pixel centres."""
    rows = np.arange(len(column))
    last = column.shape[1] - 1 - (column[:, ::-1] >= 0.5).argmax(axis=1)
    high, low = column[rows, last], column[rows, np.minimum(last + 1, column.shape[1] - 1)]
    return last + (high - 0.5) / np.maximum(high - low, 1e-12)
