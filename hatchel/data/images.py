"""Images: a folder of pictures of any size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.core.spec import Count, local
from hatchel.data.cache import Recipe, cached
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.pictures import Pictures
from hatchel.data.source import Source
from hatchel.data.store import ArrayStore, DrawnStore, Store

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


class Images(Source):
    """A folder of pictures of any size: the largest centred square of each, resized; sub-folders become labels."""

    path: str
    "The folder."
    size: Count = 64
    "Pixels a side."
    colour: bool = True
    "Three channels; false makes them grey."
    labels: bool = True
    "The first sub-folder of a picture is its label (the factor `folder`), if all pictures lie in two or more of them."
    unreadable: Literal["error", "skip"] = "error"
    "What to do about a picture that cannot be read: stop and name it, or leave it out and warn."
    cache: bool = local(default=True)
    "Keep the resized pictures in the cache folder; false reads the files again for each batch."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        """By the fields alone."""
        return (3 if self.colour else 1, self.size, self.size)

    def load(self) -> Dataset:
        """All pictures below the folder, in the order of their names."""
        root = Path(self.path).expanduser()
        if not root.is_dir():
            raise HatchelError(f"path: there is no folder {self.path}")
        names = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.suffix.lower() in SUFFIXES)
        if not names:
            raise HatchelError(f"{self.path} has no images in it (looked for {', '.join(SUFFIXES)})")
        pictures = Pictures(str(root), tuple(names), self.size, self.colour)
        if self.unreadable == "skip":
            pictures = readable(pictures)
        space, codes = _by_folder(pictures.names) if self.labels else (None, None)
        return Dataset(root.resolve().name, store(pictures, root.resolve().name, self.cache), space, codes)


def store(pictures: Pictures, label: str, cache: bool) -> Store:
    """Decoded once into the cache folder, or for each batch anew."""
    shape = pictures.shape
    if not cache:
        return DrawnStore(pictures, len(pictures.names), shape)
    per_part = max(1, min(256, len(pictures.names)))
    key = f"pictures 1 {pictures.identity()} {shape}"
    array = cached(Recipe(label, key, (len(pictures.names), *shape), "u1", pictures.span, per_part))
    return ArrayStore(array)


def readable(pictures: Pictures) -> Pictures:
    """Without those that cannot be decoded, which are named in a warning."""
    with ThreadPoolExecutor() as pool, progress("checking pictures", len(pictures.names)) as advance:
        faults: list[str | None] = []
        for fault in pool.map(pictures.fault, range(len(pictures.names))):
            faults.append(fault)
            advance(1)
    bad = [name for name, fault in zip(pictures.names, faults, strict=True) if fault]
    if not bad:
        return pictures
    good = tuple(name for name, fault in zip(pictures.names, faults, strict=True) if not fault)
    if not good:
        raise HatchelError(f"none of the {len(bad)} images in {pictures.root} can be read; the first: {faults[0]}")
    more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
    warnings.warn(f"left out {len(bad)} unreadable images: {', '.join(bad[:10])}{more}", stacklevel=2)
    return Pictures(pictures.root, good, pictures.size, pictures.colour)


def _by_folder(names: Sequence[str]) -> tuple[FactorSpace | None, Integers | None]:
    folders = [Path(name).parts[0] if len(Path(name).parts) > 1 else "" for name in names]
    known = sorted(set(folders))
    if "" in known or len(known) < 2:
        return None, None
    codes = np.array([known.index(f) for f in folders], dtype=np.int64)
    return FactorSpace((Factor("folder", tuple(known)),), complete=False), codes[:, None]
