"""Pictures: image files in a folder or a zip, decoded by number."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.data.factors import Integers
from hatchel.data.store import Pixels


class Pictures:
    """Named image files below a folder (or inside a zip), each cropped to its centred square and resized."""

    def __init__(self, root: str, names: tuple[str, ...], size: int, colour: bool) -> None:
        self.root = root
        self.names = names
        self.size = size
        self.colour = colour
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {"root": self.root, "names": self.names, "size": self.size, "colour": self.colour}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _local=threading.local())

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one picture, decoded."""
        return (self.size, self.size, 3 if self.colour else 1)

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
        """uint8 (n, size, size, C); files are decoded side by side."""
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
        """One picture, (size, size, C)."""
        from PIL import Image

        name = self.names[number]
        try:
            with Image.open(self._file(name)) as image:
                side = min(image.size)
                left, top = (image.width - side) // 2, (image.height - side) // 2
                square = image.convert("RGB" if self.colour else "L").crop((left, top, left + side, top + side))
                small = square.resize((self.size, self.size), Image.Resampling.LANCZOS)
                return np.asarray(small, dtype=np.uint8).reshape(self.shape)
        except (OSError, SyntaxError, ValueError, KeyError, zipfile.BadZipFile, Image.DecompressionBombError) as error:
            raise HatchelError(
                f"{Path(self.root) / name} cannot be read as an image ({error}); remove it, or use unreadable=skip"
            ) from error

    def _file(self, name: str) -> Path | io.BytesIO:
        root = Path(self.root)
        if not root.is_file():
            return root / name
        if not hasattr(self._local, "archive"):  # a ZipFile must not be shared between threads
            self._local.archive = zipfile.ZipFile(root)
        return io.BytesIO(self._local.archive.read(name))


def shrunk(images: Pixels, size: int) -> Pixels:
    """Square images (n, H, H, C) resized by Lanczos: (n, size, size, C)."""
    from PIL import Image

    def one(image: Pixels) -> Pixels:
        small = Image.fromarray(image.squeeze()).resize((size, size), Image.Resampling.LANCZOS)
        return np.asarray(small).reshape(size, size, -1)

    return np.stack([one(image) for image in images])
