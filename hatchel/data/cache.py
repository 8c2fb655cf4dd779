"""Arrays made once and kept in the user's cache folder: memory-mapped, checksummed, safe under races.

An entry is two files: the raw array (.bin), and a JSON file with its shape and the CRC-32 of each part, a slice of the
first axis. While it is being made the array is called `*.partial`; it gets its name only when it is all on disk.
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
from hatchel.core.files import exclusive, write_json
from hatchel.core.progress import progress

Part = Callable[[int, int], NDArray[Any]]
"""Makes items start to stop of an array."""

WORKERS = min(8, os.cpu_count() or 1)


def cache_folder() -> Path:
    """HATCHEL_CACHE, or hatchel in XDG_CACHE_HOME, or ~/.cache/hatchel."""
    named = os.environ.get("HATCHEL_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hatchel"


def spans(n: int, per_part: int) -> list[tuple[int, int]]:
    """Start and stop of each part of n items."""
    return [(start, min(start + per_part, n)) for start in range(0, n, per_part)]


@dataclass(frozen=True)
class CachedArray:
    """An array that can be made part by part; the `key` names everything its content depends on."""

    label: str
    key: str
    shape: tuple[int, ...]
    dtype: str
    part: Part
    per_part: int
    """How many items are made at a time."""
    in_order: bool = False
    """The parts can only be made one after the other (they come out of a stream)."""

    def load(self) -> NDArray[Any]:
        """From the cache if it is there and whole, else made and kept; read-only, memory-mapped."""
        path = self._path
        try:
            with exclusive(path.with_suffix(".lock")):
                if not self._intact():
                    self._make()
        except OSError as error:
            # Somebody else's cache can be read where it cannot be locked.
            if error.errno not in (errno.EACCES, errno.EROFS) or not self._intact():
                space = self._bytes(self.shape[0]) >> 20
                raise HatchelError(
                    f"cannot keep {self.label} in the cache folder {path.parent}: {error.strerror or error}. Name "
                    f"another folder in HATCHEL_CACHE, free {space} MB, or use data.cache=false"
                ) from error
        return np.memmap(path, dtype=self.dtype, mode="r", shape=self.shape)

    @property
    def kept(self) -> bool:
        """Whether it is in the cache, as far as a glance tells; `load` checks it."""
        return self._path.with_suffix(".json").is_file() and self._path.is_file()

    @property
    def _path(self) -> Path:
        return cache_folder() / f"{self.label}-{hashlib.sha256(self.key.encode()).hexdigest()[:12]}.bin"

    @property
    def _about(self) -> dict[str, Any]:
        return {"key": self.key, "shape": list(self.shape), "dtype": self.dtype, "per_part": self.per_part}

    @property
    def _spans(self) -> list[tuple[int, int]]:
        return spans(self.shape[0], self.per_part)

    def _intact(self) -> bool:
        """Whether the entry is there and every part has the checksum it was written with."""
        path = self._path
        try:
            about = cast(dict[str, Any], json.loads(path.with_suffix(".json").read_text()))
            sums = cast(list[int | None], about.pop("crc32"))
            size = path.stat().st_size
        except (FileNotFoundError, ValueError, KeyError, AttributeError):
            return False
        if about != self._about or len(sums) != len(self._spans) or size != self._bytes(self.shape[0]):
            return False

        def right(span: tuple[int, int], expected: int | None) -> bool:
            # Read, not mapped: pages of a map would count as this process's memory.
            crc, left = 0, self._bytes(span[1] - span[0])
            with path.open("rb") as file:
                file.seek(self._bytes(span[0]))
                while left > 0 and (block := file.read(min(left, 1 << 20))):
                    crc, left = zlib.crc32(block, crc), left - len(block)
            advance(1)
            return crc == expected

        with ThreadPoolExecutor(WORKERS) as pool, progress(f"checking {self.label}", len(sums)) as advance:
            return all(pool.map(right, self._spans, sums))

    def _make(self) -> None:
        path = self._path
        draft = path.with_suffix(".partial")
        path.unlink(missing_ok=True)

        def write(span: tuple[int, int]) -> int:
            raw = np.ascontiguousarray(self.part(*span), dtype=self.dtype).data.cast("B")
            with draft.open("r+b") as file:
                file.seek(self._bytes(span[0]))
                file.write(raw)
            advance(span[1] - span[0])
            return zlib.crc32(raw)

        pool = ThreadPoolExecutor(1 if self.in_order else WORKERS)
        try:
            draft.write_bytes(b"")
            with progress(f"preparing {self.label}", self.shape[0]) as advance:
                sums = list(pool.map(write, self._spans))
            with draft.open("r+b") as file:
                os.fsync(file.fileno())
            write_json(path.with_suffix(".json"), {**self._about, "crc32": sums}, sealed=False)
            draft.replace(path)
        finally:
            pool.shutdown(cancel_futures=True)
            draft.unlink(missing_ok=True)

    def _bytes(self, items: int) -> int:
        return items * math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize
