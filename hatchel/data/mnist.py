"""MNIST and Fashion-MNIST, from their IDX files."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import local
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.files import RemoteFile, located
from hatchel.data.idx import read_idx
from hatchel.data.source import Source
from hatchel.data.store import ArrayStore, Pixels

Half = Literal["train", "test"]
DIGITS = Factor("digit", tuple("0123456789"))
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


class Framed(Source, ABC):
    """Pictures of 28 px from the files of MNIST, or from others of its form."""

    size: Literal[28, 32] = 32
    "Pixels a side; 32 adds two black pixels on each side, which suits convolutions."
    path: str = local(default="")
    "The folder with the four files; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        """By the fields alone."""
        return (1, self.size, self.size)


class MNIST(Framed, kind="mnist"):
    """Handwritten digits (LeCun et al. 2010): 60,000 for training, 10,000 for testing; the digit is known."""

    files: ClassVar[tuple[RemoteFile, ...]] = MNIST_FILES
    part: Literal["train", "test", "all"] = "train"
    "Which of the images."

    def load(self) -> Dataset:
        """Images with their digit."""
        return _labelled(self, self.part, DIGITS)


class FashionMNIST(Framed, kind="fashion_mnist"):
    """Pictures of clothes (Xiao et al. 2017, MIT licence, Zalando SE), in the form of MNIST; the kind is known."""

    files: ClassVar[tuple[RemoteFile, ...]] = FASHION_FILES
    part: Literal["train", "test", "all"] = "train"
    "Which of the images."

    def load(self) -> Dataset:
        """Images with their kind of clothing."""
        return _labelled(self, self.part, Factor("clothing", CLOTHES))


def read_half(
    kind: str, path: str, half: Half, files: tuple[RemoteFile, ...] = MNIST_FILES
) -> tuple[Pixels, NDArray[Any]]:
    """Images (n, 28, 28) and labels (n,) of one half."""
    images, labels = files[:2] if half == "train" else files[2:]
    n = 60_000 if half == "train" else 10_000
    pixels = read_idx(located(kind, path, images), (n, 28, 28), images.md5)
    return pixels, read_idx(located(kind, path, labels), (n,), labels.md5)


def framed(images: Pixels, size: int) -> Pixels:
    """28 px images with a black frame around them: (n, 28, 28) -> (n, size, size, 1)."""
    edge = (size - 28) // 2
    return np.pad(images, ((0, 0), (edge, edge), (edge, edge)))[..., None]


def sampled(name: str, images: Pixels, factors: tuple[Factor, ...], codes: Integers) -> Dataset:
    """A data set of images in memory that shows some of the combinations of its factors."""
    return Dataset(name, ArrayStore(images), FactorSpace(factors, complete=False), codes)


def _labelled(source: Framed, part: str, factor: Factor) -> Dataset:
    halves: tuple[Half, ...] = ("train", "test") if part == "all" else ("train",) if part == "train" else ("test",)
    read = [read_half(source.kind, source.path, half, source.files) for half in halves]
    images, labels = np.concatenate([r[0] for r in read]), np.concatenate([r[1] for r in read])
    return sampled(source.kind, framed(images, source.size), (factor,), labels.astype(np.int64)[:, None])
