"""smallNORB: grey photographs of 50 toys under known light and view."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.dataset import Dataset
from hatchel.data.decode import Pixels
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import read_matrix
from hatchel.data.images import resized
from hatchel.data.source import Source

HALF = 24_300
MIRROR = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
STEMS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
SPACE = FactorSpace(
    (
        Factor("category", ("animal", "human", "airplane", "truck", "car")),
        Factor("instance", tuple(float(i) for i in range(10))),
        Factor("elevation", tuple(30.0 + 5 * e for e in range(9)), "continuous"),
        Factor("azimuth", tuple(20.0 * a for a in range(18)), "cyclic"),
        Factor("lighting", tuple(float(i) for i in range(6))),
    )
)


class SmallNORB(Source, kind="small_norb"):
    """Toys: category (5) x instance (10) x elevation (9) x azimuth (18) x lighting (6), both halves (LeCun 2004).

    The left camera's images, in the order of the factors; needs its files.
    """

    files: ClassVar[tuple[RemoteFile, ...]] = tuple(
        RemoteFile(f"{stem}-{what}.mat.gz", (f"{MIRROR}{stem}-{what}.mat.gz",), MIRROR)
        for stem in STEMS
        for what in ("dat", "cat", "info")
    )
    size: Literal[64, 96] = 64
    "Side length in pixels; the original's are 96."
    path: str = local(default="")
    "The folder with the six files, gzipped or not; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (1, self.size, self.size)

    def load(self) -> Dataset:
        halves = [self._half(*self.files[3 * i : 3 * i + 3]) for i in range(2)]
        codes = np.concatenate([h[1] for h in halves])
        index = SPACE.index(codes)
        if len(np.unique(index)) != len(SPACE):
            raise HatchelError("smallNORB's files do not show every combination once; fetch them again")
        images = np.empty((len(SPACE), self.size, self.size, 1), dtype=np.uint8)
        images[index] = np.concatenate([h[0] for h in halves])
        return Dataset(self.kind, images, SPACE)

    def _half(self, dat: RemoteFile, cat: RemoteFile, info: RemoteFile) -> tuple[Pixels, Integers]:
        images = read_matrix(find_file(self.kind, self.path, dat), (HALF, 2, 96, 96))[:, 0]
        category = read_matrix(find_file(self.kind, self.path, cat), (HALF,))
        # instance, elevation, azimuth (even numbers: tens of degrees), lighting
        rest = read_matrix(find_file(self.kind, self.path, info), (HALF, 4)) // (1, 1, 2, 1)
        grey = images[..., None] if self.size == 96 else resized(images[..., None], self.size)
        return grey, np.concatenate([category[:, None], rest], axis=1).astype(np.int64)
