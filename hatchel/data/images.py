"""Images in files: a folder of pictures of any size as a data set, and how pictures are decoded and resized."""

from __future__ import annotations

import hashlib
import io
import threading
import warnings
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.core.spec import Count, added, local
from hatchel.data.cache import CachedArray
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray, Pixels
from hatchel.data.factors import Factor, FactorSpace, Integers
from hatchel.data.source import Source

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


class Images(Source):
    """A folder of pictures of any size: the largest centred part of each, resized; sub-folders become labels."""

    path: str
    "The folder."
    size: Count = 64
    "Height in pixels, and width too unless that is set."
    width: Count | None = added(default=None)
    "Width in pixels; left out: squares."
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
        return (3 if self.colour else 1, self.size, self.width or self.size)

    def load(self) -> Dataset:
        root = Path(self.path).expanduser()
        if not root.is_dir():
            raise HatchelError(f"path: there is no folder {self.path}")
        names = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.suffix.lower() in SUFFIXES)
        if not names:
            raise HatchelError(f"{self.path} has no images in it (looked for {', '.join(SUFFIXES)})")
        pictures = Pictures(str(root), tuple(names), self.size, self.colour, self.width)
        if self.unreadable == "skip":
            pictures = drop_unreadable(pictures)
        space, codes = _by_folder(pictures.names) if self.labels else (None, None)
        return Dataset(root.resolve().name, pictures.array(root.resolve().name, self.cache), space, codes)


class Pictures:
    """Named image files below a folder (or inside a zip), each cropped to its centred part and resized."""

    def __init__(self, root: str, names: tuple[str, ...], size: int, colour: bool, width: int | None = None) -> None:
        self.root = root
        self.names = names
        self.size = size
        self.width = width or size
        self.colour = colour
        self._local = threading.local()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one picture, decoded."""
        return (self.size, self.width, 3 if self.colour else 1)

    def array(self, label: str, cache: bool) -> Pixels | LazyArray:
        """Decoded once into the cache folder, or again for each batch."""
        shape = (len(self.names), *self.shape)
        if not cache:
            return LazyArray(self, shape)
        per_part = max(1, min(256, len(self.names)))
        return CachedArray(label, f"pictures 1 {self.identity()} {self.shape}", shape, "u1", self.span, per_part).load()

    def identity(self) -> str:
        """Changes when a file is added, removed or written."""
        root = Path(self.root)
        digest = hashlib.sha256(str(root.resolve()).encode())
        for path in [root] if root.is_file() else [root / name for name in self.names]:
            stat = path.stat()
            digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
        digest.update("\n".join(self.names).encode())
        return digest.hexdigest()

    def __call__(self, indices: Integers) -> Pixels:
        """uint8 (n, size, width, C); files are decoded in parallel."""
        with ThreadPoolExecutor() as pool:
            decoded = list(pool.map(self.picture, indices.tolist()))
        return np.stack(decoded) if decoded else np.empty((0, *self.shape), np.uint8)

    def span(self, start: int, stop: int) -> Pixels:
        """Pictures start to stop, one after the other."""
        return np.stack([self.picture(number) for number in range(start, stop)])

    def fault(self, number: int) -> str | None:
        """What is wrong with a picture, if anything."""
        try:
            self.picture(number)
        except HatchelError as error:
            return str(error)
        return None

    def picture(self, number: int) -> Pixels:
        """One picture, (size, width, C)."""
        from PIL import Image

        name = self.names[number]
        try:
            with Image.open(self._file(name)) as image:
                return cropped(image, self.size, self.width, self.colour)
        except (OSError, SyntaxError, ValueError, KeyError, zipfile.BadZipFile, Image.DecompressionBombError) as error:
            raise HatchelError(
                f"{Path(self.root) / name} cannot be read as an image ({error}); remove it, or use data.unreadable=skip"
            ) from error

    def _file(self, name: str) -> Path | io.BytesIO:
        root = Path(self.root)
        if not root.is_file():
            return root / name
        if not hasattr(self._local, "archive"):  # a ZipFile must not be shared between threads
            self._local.archive = zipfile.ZipFile(root)
        return io.BytesIO(self._local.archive.read(name))


def cropped(image: Any, height: int, width: int, colour: bool) -> Pixels:
    """The largest centred part of a PIL image with these proportions, resized: (height, width, C)."""
    from PIL import Image

    wide = min(image.width, image.height * width // height)
    high = min(image.height, image.width * height // width)
    left, top = (image.width - wide) // 2, (image.height - high) // 2
    part = image.convert("RGB" if colour else "L").crop((left, top, left + max(wide, 1), top + max(high, 1)))
    small = part.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.uint8).reshape(height, width, -1)


def drop_unreadable(pictures: Pictures) -> Pictures:
    """Without those that cannot be decoded, which are named in a warning."""
    faults: dict[str, str] = {}
    with ThreadPoolExecutor() as pool, progress("checking pictures", len(pictures.names)) as advance:
        for name, fault in zip(pictures.names, pool.map(pictures.fault, range(len(pictures.names))), strict=True):
            advance(1)
            if fault:
                faults[name] = fault
    if not faults:
        return pictures
    bad, good = list(faults), tuple(name for name in pictures.names if name not in faults)
    if not good:
        raise HatchelError(f"none of the {len(bad)} images in {pictures.root} can be read; the first: {faults[bad[0]]}")
    more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
    warnings.warn(
        f"left out {len(bad)} unreadable image{'s' * (len(bad) > 1)}: {', '.join(bad[:10])}{more}", stacklevel=2
    )
    return Pictures(pictures.root, good, pictures.size, pictures.colour, pictures.width)


def _by_folder(names: Sequence[str]) -> tuple[FactorSpace | None, Integers | None]:
    folders = [Path(name).parts[0] if len(Path(name).parts) > 1 else "" for name in names]
    known = sorted(set(folders))
    if "" in known or len(known) < 2:
        return None, None
    codes = np.array([known.index(f) for f in folders], dtype=np.int64)
    return FactorSpace((Factor("folder", tuple(known)),), complete=False), codes[:, None]


def resized(images: Pixels, size: int) -> Pixels:
    """Square images (n, H, H, C) resized by Lanczos: (n, size, size, C)."""
    from PIL import Image

    def one(image: Pixels) -> Pixels:
        small = Image.fromarray(image.squeeze()).resize((size, size), Image.Resampling.LANCZOS)
        return np.asarray(small).reshape(size, size, -1)

    return np.stack([one(image) for image in images])
