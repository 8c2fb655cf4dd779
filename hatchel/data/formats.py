"""File formats: arrays in npy, npz and HDF5 files, MNIST's IDX, smallNORB's binary matrices, MATLAB.

Nothing is ever unpickled. Large arrays are mapped where possible and read in order otherwise.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.plugins import extra
from hatchel.core.progress import progress
from hatchel.data.cache import CachedArray, spans
from hatchel.data.files import contents

ARRAYS, TABLES = (".npy", ".npz", ".h5", ".hdf5"), (".csv", ".tsv", ".parquet")
"""The endings of files that are read."""
PER_PART = 1 << 24  # bytes read at a time
RATIO = 1100
"""Compression by deflate makes data at most so many times smaller."""
IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MATRIX_TYPES = {0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8", 0x1E3D4C54: "<i4", 0x1E3D4C55: "<u1", 0x1E3D4C56: "<i2"}


FAULTS = (
    OSError, EOFError, ValueError, KeyError, IndexError, RuntimeError, MemoryError, OverflowError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""How the libraries that read arrays say that a file is not one; RuntimeError: an encrypted zip file."""


@dataclass(frozen=True)
class FileArray:
    """An array in a file."""

    path: Path
    key: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    mapped: NDArray[Any] | None
    """The array as a memory map, where it lies in the file as it is."""
    blocks: Callable[[int], Iterator[NDArray[Any]]]
    """The array from its beginning, so many items at a time."""

    @property
    def identity(self) -> str:
        """Changes whenever the file is written."""
        stat = self.path.stat()
        return f"{self.path.resolve()} {self.key} {stat.st_size} {stat.st_mtime_ns}"

    def converted(
        self,
        label: str,
        convert: Callable[[NDArray[Any]], NDArray[Any]],
        shape: tuple[int, ...],
        dtype: str,
        cache: bool,
    ) -> NDArray[Any]:
        """All items, some at a time through `convert`: kept in the cache, or in memory."""
        per_part = max(1, PER_PART // max(1, int(np.prod(self.shape[1:])) * self.dtype.itemsize))
        blocks = map(convert, self.blocks(per_part))
        if cache:
            key = f"{label} {self.identity} {shape} {dtype}"
            return CachedArray(label, key, shape, dtype, lambda *_: next(blocks), per_part, in_order=True).load()
        out = np.empty(shape, dtype)
        with progress(f"reading {self.path.name}", len(out)) as advance:
            for (start, stop), block in zip(spans(len(out), per_part), blocks, strict=True):
                out[start:stop] = block
                advance(stop - start)
        return out

    def all(self) -> NDArray[Any]:
        return next(self.blocks(max(1, self.shape[0])), np.empty(self.shape, self.dtype))


def array_names(path: Path) -> tuple[str, ...]:
    """The arrays in a file; an .npy has one, without a name."""
    with _reading(path):
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return tuple(n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy"))
        if path.suffix in (".h5", ".hdf5"):
            h5py = _h5py()
            with h5py.File(path, "r") as file:
                return tuple(str(k) for k, v in file.items() if isinstance(v, h5py.Dataset))
    return ("",)


def open_array(path: Path, key: str) -> FileArray:
    """One array of a file."""
    if not path.is_file():
        raise HatchelError(f"{path}: there is no such file")
    if key not in array_names(path):
        raise unknown("array", key, array_names(path), where=str(path))
    with _reading(path):
        if path.suffix == ".npy":
            return _npy(path)
        if path.suffix == ".npz":
            return _npz(path, key)
        if path.suffix in (".h5", ".hdf5"):
            return _h5(path, key)
    raise HatchelError(f"{path}: arrays are read from .npy, .npz, .h5 and .hdf5 files")


def read_idx(path: Path, shape: tuple[int, ...], md5: str = "") -> NDArray[Any]:
    """The array of an IDX file (raw or gzipped), which must have that shape."""
    raw = contents(path, md5)
    dtype = IDX_TYPES.get(raw[2]) if raw[:2] == b"\0\0" and len(raw) > 4 else None
    if dtype is None:
        raise HatchelError(f"{path} is not an IDX file: its first bytes are {raw[:4].hex()}")
    sizes = tuple(np.frombuffer(raw, ">i4", min(raw[3], (len(raw) - 4) // 4), offset=4).tolist())
    return _body(path, raw, 4 + 4 * raw[3], dtype, sizes, shape)


def read_matrix(path: Path, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array of one of smallNORB's binary matrix files (raw or gzipped), which must have that shape."""
    raw = contents(path)
    head = np.frombuffer(raw, "<i4", min(len(raw) // 4, 8))
    dtype = MATRIX_TYPES.get(int(head[0])) if len(head) >= 2 else None
    if dtype is None:
        raise HatchelError(f"{path} is not a binary matrix of smallNORB: its first bytes are {raw[:4].hex()}")
    dimensions = int(head[1])
    sizes = tuple(head[2 : 2 + dimensions].tolist())
    # At least three sizes are written, whatever the number of dimensions.
    return _body(path, raw, 8 + 4 * max(3, dimensions), dtype, sizes, shape)


def read_mat(file: Path | IO[bytes], name: str, key: str) -> NDArray[Any]:
    """One variable of a MATLAB file of version 5; `name` is what errors call the file."""
    from scipy.io import loadmat

    try:
        content = loadmat(file, variable_names=[key])
    except Exception as error:  # scipy raises many kinds on broken files
        raise HatchelError(f"{name} cannot be read as a MATLAB file ({error}); fetch it again") from error
    if key not in content:
        raise HatchelError(f"{name} has no variable {key!r}")
    return np.asarray(content[key])


def _npy(path: Path) -> FileArray:
    with path.open("rb") as file:
        shape, fortran, dtype = _header(file, path, "")
        offset = file.tell()
    return _in_place(path, "", shape, fortran, dtype, offset)


def _npz(path: Path, key: str) -> FileArray:
    name = f"{key}.npy"
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        info = archive.getinfo(name)
        shape, fortran, dtype = _header(member, path, key)
        begin = member.tell()
    if info.compress_type == zipfile.ZIP_STORED:
        with path.open("rb") as file:  # a local header is 30 bytes, a name and an extra field, then the member's bytes
            file.seek(info.header_offset)
            head = file.read(30)
        skip = 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        return _in_place(path, key, shape, fortran, dtype, info.header_offset + skip + begin)
    if fortran:
        raise HatchelError(f"{path}: the array {key!r} is compressed in Fortran order; save it in C order")
    _check_stored(path, key, shape, dtype, min(info.file_size, info.compress_size * RATIO))
    size = math.prod(shape[1:]) * dtype.itemsize

    def blocks(items: int) -> Iterator[NDArray[Any]]:
        with _reading(path), zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            stream.read(begin)
            for start, stop in spans(shape[0], items):
                raw = stream.read((stop - start) * size)
                if len(raw) < (stop - start) * size:
                    raise HatchelError(f"{path} is truncated: the array {key!r} ends early; fetch it again")
                yield np.frombuffer(raw, dtype).reshape(stop - start, *shape[1:])

    return FileArray(path, key, shape, dtype, None, blocks)


def _h5(path: Path, key: str) -> FileArray:
    with _h5py().File(path, "r") as file:
        shape, dtype = tuple(int(n) for n in file[key].shape), np.dtype(file[key].dtype)
        if file[key].nbytes > PER_PART:
            _check_stored(path, key, shape, dtype, file[key].id.get_storage_size() * RATIO)

    def blocks(items: int) -> Iterator[NDArray[Any]]:
        with _reading(path), _h5py().File(path, "r") as file:
            for start, stop in spans(shape[0], items):
                yield cast(NDArray[Any], file[key][start:stop])

    return FileArray(path, key, shape, dtype, None, blocks)


def _in_place(
    path: Path, key: str, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any], offset: int
) -> FileArray:
    _check_stored(path, key, shape, dtype, path.stat().st_size - offset)
    order = "F" if fortran else "C"
    array = np.memmap(path, dtype, "r", offset, shape, order) if math.prod(shape) else np.empty(shape, dtype)
    return FileArray(path, key, shape, dtype, array, lambda n: (np.array(array[i:j]) for i, j in spans(shape[0], n)))


def _check_stored(path: Path, key: str, shape: tuple[int, ...], dtype: np.dtype[Any], most: int) -> None:
    """Refuse an array that cannot be in the file, before any memory is taken for it."""
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize > most:
        raise HatchelError(f"{path} is truncated: its array {key} of shape {shape} does not fit into the file")


def _header(file: IO[bytes], path: Path, key: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = read(file)
    except (OSError, ValueError):
        raise
    except Exception as error:  # it is Python that is parsed: what a wild one ends in depends on where it breaks
        raise ValueError(f"its header is broken: {type(error).__name__}") from error
    if dtype.hasobject:
        raise HatchelError(f"{path}: the array {key!r} holds pickled objects, which are not read; save numbers")
    if not shape:
        raise HatchelError(f"{path}: the array {key!r} is a single number")
    return shape, fortran, dtype


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except FAULTS as error:
        reason = " ".join(str(error).split())[:200]
        raise HatchelError(f"{path} cannot be read ({reason}); it may be truncated or of another format") from error


def _h5py() -> Any:
    return extra("h5py", "data", "reading HDF5")


def _body(
    path: Path, raw: bytes, start: int, dtype: str, sizes: tuple[int, ...], shape: tuple[int, ...]
) -> NDArray[Any]:
    if sizes != shape:
        raise HatchelError(f"{path} holds an array of shape {sizes}; {shape} was expected")
    count = math.prod(shape)
    if len(raw) - start != count * np.dtype(dtype).itemsize:
        raise HatchelError(f"{path} is truncated or too long: {len(raw)} bytes; fetch it again")
    return np.frombuffer(raw, dtype, count, offset=start).reshape(shape)
