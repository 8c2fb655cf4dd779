"""SVHN: photographed house numbers, cropped to one digit."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.dataset import Dataset
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import read_mat
from hatchel.data.mnist import DIGITS, labelled_images
from hatchel.data.source import Source

MIRROR = "http://ufldl.stanford.edu/housenumbers/"
COUNTS = {"train": 73_257, "test": 26_032}


class SVHN(Source, kind="svhn"):
    """House numbers at 32 px in colour (Netzer et al. 2011); the digit in the middle is known; needs its files."""

    files: ClassVar[tuple[RemoteFile, ...]] = tuple(
        RemoteFile(f"{part}_32x32.mat", (f"{MIRROR}{part}_32x32.mat",), MIRROR) for part in COUNTS
    )
    part: Literal["train", "test"] = "train"
    "Which images."
    path: str = local(default="")
    "The .mat file, or a folder with it; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, 32, 32)

    def load(self) -> Dataset:
        path = find_file(self.kind, self.path, self.files[list(COUNTS).index(self.part)])
        images, labels = read_mat(path, str(path), "X"), read_mat(path, str(path), "y")
        n = COUNTS[self.part]
        if images.shape != (32, 32, 3, n) or labels.size != n:
            raise HatchelError(f"{path}: X has the shape {images.shape}; (32, 32, 3, {n}) was expected")
        digits = labels.reshape(-1).astype(np.int64) % 10  # the file calls the zero 10
        return labelled_images(
            self.kind, np.ascontiguousarray(images.transpose(3, 0, 1, 2)), (DIGITS,), digits[:, None]
        )
