"""Arrays made once and kept in the user's cache folder: memory-mapped, checksummed, resumable, safe under races.

An entry is two files: the raw array, and a JSON page with its shape and the CRC-32 of each part. A part is a slice of
the first axis. While it is being made the array is called `*.partial`; it gets its name only when all parts are there,
so that what has the name is whole, and what the checksums contradict is made again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.files import exclusive
from hatchel.core.progress import progress

Part = Callable[[int, int], NDArray[Any]]
"""Makes items start to stop of an array."""


def cache_folder() -> Path:
    """HATCHEL_CACHE, or hatchel in XDG_CACHE_HOME, or ~/.cache/hatchel."""
    named = os.environ.get("HATCHEL_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hatchel"


@dataclass(frozen=True)
class Recipe:
    """An array that can be made part by part; the `key` names everything its content depends on."""

    label: str
    key: str
    shape: tuple[int, ...]
    dtype: str
    part: Part
    per_part: int
    """How many items are made at a time."""
    in_order: bool = False
    """The parts can only be made one after the other (they come out of a stream); such work is not resumed."""

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Start and stop of each part."""
        n = self.shape[0]
        return [(start, min(start + self.per_part, n)) for start in range(0, n, self.per_part)]

    @property
    def page(self) -> dict[str, Any]:
        """What the entry's JSON page must say for the entry to be this array."""
        return {"key": self.key, "shape": list(self.shape), "dtype": self.dtype, "per_part": self.per_part}


def cached(recipe: Recipe) -> NDArray[Any]:
    """The array, from the cache if it is there and whole, else made and kept; read-only, memory-mapped."""
    name = f"{recipe.label}-{hashlib.sha256(recipe.key.encode()).hexdigest()[:12]}"
    folder = cache_folder()
    path = folder / f"{name}.bin"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / f"{name}.lock"):
            if not _intact(recipe, path):
                _make(recipe, path)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS) and _intact(recipe, path):  # somebody else's cache, to be read
            return _mapped(recipe, path)
        raise HatchelError(
            f"cannot keep {recipe.label} in the cache folder {folder}: {error.strerror or error}. Name another folder "
            f"in HATCHEL_CACHE, free {math.prod(recipe.shape) * np.dtype(recipe.dtype).itemsize >> 20} MB, or use "
            "cache=False"
        ) from error
    return _mapped(recipe, path)


def _mapped(recipe: Recipe, path: Path) -> NDArray[Any]:
    return np.memmap(path, dtype=recipe.dtype, mode="r", shape=recipe.shape)


def _intact(recipe: Recipe, path: Path) -> bool:
    """Whether the entry is there and every part has the checksum it was written with."""
    page = _read_page(recipe, path.with_suffix(".json"))
    if page is None or not path.is_file() or path.stat().st_size != _bytes(recipe, recipe.shape[0]):
        return False

    def right(number: int) -> bool:
        advance(1)
        return page[number] is not None and page[number] == _checksum(recipe, path, recipe.spans[number])

    with ThreadPoolExecutor(_workers()) as pool, progress(f"checking {recipe.label}", len(page)) as advance:
        return all(pool.map(right, range(len(page))))


def _make(recipe: Recipe, path: Path) -> None:
    partial, journal = path.with_suffix(".partial"), path.with_suffix(".json")
    path.unlink(missing_ok=True)
    size = _bytes(recipe, recipe.shape[0])
    found = _read_page(recipe, journal) if partial.is_file() and partial.stat().st_size == size else None
    sums: list[int | None] = [None] * len(recipe.spans) if found is None or recipe.in_order else found
    if found is None:
        _reserve(partial, size)

    def one(number: int) -> None:
        start, stop = recipe.spans[number]
        if sums[number] is None or sums[number] != _checksum(recipe, partial, (start, stop)):
            raw = np.ascontiguousarray(recipe.part(start, stop), dtype=recipe.dtype).data.cast("B")
            with partial.open("r+b") as file:
                file.seek(_bytes(recipe, start))
                file.write(raw)
            sums[number] = zlib.crc32(raw)
        advance(stop - start)

    with progress(f"preparing {recipe.label}", recipe.shape[0]) as advance:
        pool = ThreadPoolExecutor(1 if recipe.in_order else _workers())
        try:
            for number, _ in enumerate(pool.map(one, range(len(recipe.spans)))):
                if number % 8 == 0:
                    _write_page(recipe, journal, sums)
        finally:
            pool.shutdown(cancel_futures=True)
            _write_page(recipe, journal, sums)
    partial.replace(path)


def _reserve(path: Path, size: int) -> None:
    """Take the disk space at once, so that a full disk is an error now and not a crash of the memory map later."""
    with path.open("wb") as file:
        file.truncate(size)
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # a file system that cannot promise space
                    raise


def _bytes(recipe: Recipe, items: int) -> int:
    return items * math.prod(recipe.shape[1:]) * np.dtype(recipe.dtype).itemsize


def _checksum(recipe: Recipe, path: Path, span: tuple[int, int]) -> int:
    # Read, not mapped: pages of a map would count as this process's memory.
    crc, left = 0, _bytes(recipe, span[1] - span[0])
    with path.open("rb") as file:
        file.seek(_bytes(recipe, span[0]))
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            crc, left = zlib.crc32(block, crc), left - len(block)
    return crc


def _read_page(recipe: Recipe, path: Path) -> list[int | None] | None:
    """The checksums of an entry, or None where there is no readable page or it is of another array."""
    try:
        page = cast(dict[str, Any], json.loads(path.read_text()))
        sums = cast(list[int | None], page.pop("crc32"))
    except (FileNotFoundError, ValueError, KeyError, AttributeError):
        return None
    return sums if page == recipe.page and len(sums) == len(recipe.spans) else None


def _write_page(recipe: Recipe, path: Path, sums: list[int | None]) -> None:
    temporary = path.with_suffix(".json.new")
    temporary.write_text(json.dumps({**recipe.page, "crc32": sums}))
    temporary.replace(path)


def _workers() -> int:
    return min(8, os.cpu_count() or 1)
