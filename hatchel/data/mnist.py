"""MNIST, Fashion-MNIST and SVHN from their files, and two sets made from MNIST: rotated and pruned digits."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Share, local
from hatchel.data.dataset import Dataset
from hatchel.data.decode import Pixels
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import read_idx, read_mat
from hatchel.data.source import Source

Split = Literal["train", "test"]
DIGITS = Factor("digit", tuple("0123456789"))
ANGLES: tuple[int, ...] = (0, 15, 30, 45, 60, 75)
SVHN_COUNTS = {"train": 73_257, "test": 26_032}
SVHN_PAGE = "http://ufldl.stanford.edu/housenumbers/"
CLOTHES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def _four(mirrors: tuple[str, ...], page: str, sums: tuple[str, ...]) -> tuple[RemoteFile, ...]:
    names = [f"{half}-{what}-ubyte.gz" for half in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
    return tuple(RemoteFile(n, tuple(m + n for m in mirrors), page, s) for n, s in zip(names, sums, strict=True))


MNIST_FILES = _four(
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ),
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    (
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ),
)
FASHION_FILES = _four(
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
    "https://github.com/zalandoresearch/fashion-mnist",
    (
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
)


class PaddedImages(Source, ABC):
    """Images of 28 px from the files of MNIST, or from others of its form, padded to 32 px."""

    size: Literal[28, 32] = 32
    "Side length in pixels; 32 adds two black pixels on each side, which suits convolutions."
    path: str = local(default="")
    "The folder with the four files; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (1, self.size, self.size)


class MNIST(PaddedImages, kind="mnist"):
    """Handwritten digits (LeCun et al. 2010): 60,000 for training, 10,000 for testing; the digit is known."""

    files: ClassVar[tuple[RemoteFile, ...]] = MNIST_FILES
    label: ClassVar[Factor] = DIGITS
    part: Literal["train", "test", "all"] = "train"
    "Which images."

    def load(self) -> Dataset:
        splits: tuple[Split, ...] = ("train", "test") if self.part == "all" else (self.part,)
        read = [read_split(self.kind, self.path, split, self.files) for split in splits]
        images, labels = (np.concatenate(arrays) for arrays in zip(*read, strict=True))
        return labelled_images(self.kind, padded(images, self.size), (self.label,), labels[:, None])


class FashionMNIST(MNIST, kind="fashion_mnist"):
    """Pictures of clothes (Xiao et al. 2017, MIT licence, Zalando SE), in the form of MNIST; the kind is known."""

    files: ClassVar[tuple[RemoteFile, ...]] = FASHION_FILES
    label: ClassVar[Factor] = Factor("clothing", CLOTHES)


class MNISTRotation(PaddedImages, kind="mnist_rotation"):
    """Six domains of 1,000 digits each, rotated by 0, 15, ..., 75 degrees (Ghifary et al. 2015): angle x digit.

    Item 1000·a + j is digit j rotated by the a-th angle, counter-clockwise; each domain has 100 of each digit.
    """

    shares: ClassVar[str] = "mnist"
    seed: int = 0
    "Random seed of the choice of digits from MNIST's training images."
    redraw: bool = False
    "Choose other digits for each angle; false rotates the same ones, as the authors did."
    angles: tuple[int, ...] = ANGLES
    "The angles to load, so that one can be left out."

    def check(self) -> None:
        if not self.angles or len(set(self.angles)) < len(self.angles) or not set(self.angles) <= set(ANGLES):
            known = ", ".join(map(str, ANGLES))
            raise HatchelError(f"angles: expected some of {known}, each at most once, got {list(self.angles)}")

    def load(self) -> Dataset:
        images, labels = read_split("mnist", self.path, "train")
        rng = np.random.default_rng(self.seed)

        def hundred_each() -> list[int]:
            return [int(i) for d in range(10) for i in rng.choice(np.flatnonzero(labels == d), 100, replace=False)]

        first = hundred_each()
        drawn = dict(zip(ANGLES, [first, *(hundred_each() if self.redraw else first for _ in ANGLES[1:])], strict=True))
        turned = np.concatenate([rotated(images[drawn[a]], a) for a in self.angles])
        digits = labels[np.concatenate([drawn[a] for a in self.angles])]
        codes = np.stack([np.repeat(np.arange(len(self.angles)), 1000), digits], axis=1)
        angle = Factor("angle", tuple(float(a) for a in self.angles), "cyclic")
        return labelled_images(self.kind, padded(turned, self.size), (angle, DIGITS), codes)


class PrunedMNIST(PaddedImages, kind="pruned_mnist"):
    """MNIST without the sevens of thickest stroke and the zeros of narrowest shape (Esmaeili et al. 2019, Fig. 9).

    The paper does not say how much it prunes or how it measures; here thickness and width are measured in the image.
    """

    shares: ClassVar[str] = "mnist"
    part: Literal["kept", "removed"] = "kept"
    "The digits that are left for training, or those that were removed."
    thick: Share = 0.25
    "The share of the sevens, the thickest, that is removed."
    narrow: Share = 0.25
    "The share of the zeros, the narrowest, that is removed."

    def load(self) -> Dataset:
        images, labels = read_split("mnist", self.path, "train")
        removed = np.zeros(len(labels), dtype=bool)
        sevens, zeros = np.flatnonzero(labels == 7), np.flatnonzero(labels == 0)
        thickest = np.argsort(-thickness(images[sevens]), kind="stable")[: round(self.thick * len(sevens))]
        narrowest = np.argsort(width(images[zeros]), kind="stable")[: round(self.narrow * len(zeros))]
        removed[sevens[thickest]] = removed[zeros[narrowest]] = True
        chosen = np.flatnonzero(removed == (self.part == "removed"))
        return labelled_images(self.kind, padded(images[chosen], self.size), (DIGITS,), labels[chosen, None])


class SVHN(Source, kind="svhn"):
    """House numbers at 32 px in colour (Netzer et al. 2011); the digit in the middle is known; needs its files."""

    files: ClassVar[tuple[RemoteFile, ...]] = tuple(
        RemoteFile(f"{part}_32x32.mat", (f"{SVHN_PAGE}{part}_32x32.mat",), SVHN_PAGE) for part in SVHN_COUNTS
    )
    part: Literal["train", "test"] = "train"
    "Which images."
    path: str = local(default="")
    "The .mat file, or a folder with it; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, 32, 32)

    def load(self) -> Dataset:
        path = find_file(self.kind, self.path, self.files[list(SVHN_COUNTS).index(self.part)])
        images, labels = read_mat(path, str(path), "X"), read_mat(path, str(path), "y")
        n = SVHN_COUNTS[self.part]
        if images.shape != (32, 32, 3, n) or labels.size != n:
            raise HatchelError(f"{path}: X has the shape {images.shape}; (32, 32, 3, {n}) was expected")
        digits = labels.reshape(-1, 1) % 10  # the file calls the zero 10
        return labelled_images(self.kind, np.ascontiguousarray(images.transpose(3, 0, 1, 2)), (DIGITS,), digits)


def read_split(
    kind: str, path: str, split: Split, files: tuple[RemoteFile, ...] = MNIST_FILES
) -> tuple[Pixels, NDArray[Any]]:
    """Images (n, 28, 28) and labels (n,) for training or for testing."""
    images, labels = files[:2] if split == "train" else files[2:]
    n = 60_000 if split == "train" else 10_000
    pixels = read_idx(find_file(kind, path, images), (n, 28, 28), images.md5)
    return pixels, read_idx(find_file(kind, path, labels), (n,), labels.md5)


def padded(images: Pixels, size: int) -> Pixels:
    """28 px images with black pixels around them: (n, 28, 28) -> (n, size, size, 1)."""
    edge = (size - 28) // 2
    return np.pad(images, ((0, 0), (edge, edge), (edge, edge)))[..., None]


def labelled_images(name: str, images: Pixels, factors: tuple[Factor, ...], codes: NDArray[Any]) -> Dataset:
    """A data set of images in memory that shows some of the combinations of its factors."""
    return Dataset(name, images, FactorSpace(factors, complete=False), codes.astype(np.int64))


def rotated(images: Pixels, degrees: float) -> Pixels:
    """Images (n, H, W) turned counter-clockwise about their centre, bilinear, black where nothing was."""
    from scipy import ndimage

    if degrees == 0:
        return images
    # The axes run down and right, so that a turn from the second to the first is counter-clockwise to the eye.
    turned = ndimage.rotate(images.astype(np.float32), degrees, axes=(2, 1), reshape=False, order=1)
    return np.rint(turned).astype(np.uint8)


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
    """The character's width in pixels, between where the brightest pixel per column passes one half: (n,)."""
    column = np.pad(images, ((0, 0), (0, 0), (1, 1))).max(axis=1) / 255.0  # (n, W + 2)
    return _last(column) + _last(column[:, ::-1]) - (column.shape[1] - 1)


def _last(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last place at which a line falls below one half, interpolated between pixel centres."""
    rows = np.arange(len(column))
    last = column.shape[1] - 1 - (column[:, ::-1] >= 0.5).argmax(axis=1)
    high, low = column[rows, last], column[rows, np.minimum(last + 1, column.shape[1] - 1)]
    return last + (high - 0.5) / np.maximum(high - low, 1e-12)
