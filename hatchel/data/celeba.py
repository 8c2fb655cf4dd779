"""CelebA: faces with forty yes/no attributes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import ClassVar

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, local
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.files import RemoteFile, data_folder, how_to_get
from hatchel.data.images import Pictures
from hatchel.data.source import Source

PAGE = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"


class CelebA(Source, kind="celeba"):
    """Faces (Liu et al. 2015), the centred square resized; forty attributes as factors; needs its files.

    Its licence asks everybody to fetch it by hand.
    """

    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile("img_align_celeba.zip", (), PAGE),
        RemoteFile("list_attr_celeba.txt", (), PAGE),
    )
    size: Count = 64
    "Side length in pixels."
    cache: bool = local(default=True)
    "Keep the resized images in the cache folder (2.5 GB at 64 px); false reads the files again for each batch."
    path: str = local(default="")
    "The folder with img_align_celeba (or its .zip) and list_attr_celeba.txt; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, self.size, self.size)

    def load(self) -> Dataset:
        folder = data_folder(self.kind, self.path)
        attributes = folder / self.files[1].name
        if not attributes.is_file():
            raise HatchelError(f"celeba needs {attributes}. {how_to_get(self.kind, self.files[1], folder)}")
        names, factors, codes = read_attributes(attributes)
        root, inside = self._root(folder)
        pictures = Pictures(str(root), tuple(inside + name for name in names), self.size, True)
        space = FactorSpace(tuple(Factor(f, ("no", "yes")) for f in factors), complete=False)
        return Dataset(self.kind, pictures.array(self.kind, self.cache), space, codes)

    def _root(self, folder: Path) -> tuple[Path, str]:
        """The folder of images, or the zip and the folder inside it."""
        if (folder / "img_align_celeba").is_dir():
            return folder / "img_align_celeba", ""
        archive = folder / self.files[0].name
        if not archive.is_file():
            raise HatchelError(f"celeba needs {archive}. {how_to_get(self.kind, self.files[0], folder)}")
        if not zipfile.is_zipfile(archive):
            raise HatchelError(f"{archive} is not a whole zip file; fetch it again")
        return archive, "img_align_celeba/"


def read_attributes(path: Path) -> tuple[list[str], list[str], Integers]:
    """File names, attribute names and 0/1 codes (N, K) from list_attr_celeba.txt."""
    lines = path.read_text().split("\n")
    try:
        count, factors = int(lines[0]), lines[1].split()
        rows = [line.split() for line in lines[2 : 2 + count]]
        codes = np.array([row[1:] for row in rows], dtype=np.int64)
        if codes.shape != (count, len(factors)) or not np.isin(codes, (-1, 1)).all():
            raise ValueError(f"{codes.shape} values")
    except (ValueError, IndexError) as error:
        raise HatchelError(f"{path} is truncated or not a list of attributes ({error}); fetch it again") from error
    return [row[0] for row in rows], factors, (codes + 1) // 2
