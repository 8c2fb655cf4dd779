"""IDX: the file format of MNIST, and smallNORB's cousin of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.files import contents

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MATRIX_TYPES = {0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8", 0x1E3D4C54: "<i4", 0x1E3D4C55: "<u1", 0x1E3D4C56: "<i2"}


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


def _body(
    path: Path, raw: bytes, start: int, dtype: str, sizes: tuple[int, ...], shape: tuple[int, ...]
) -> NDArray[Any]:
    if sizes != shape:
        raise HatchelError(f"{path} holds an array of shape {sizes}; {shape} was expected")
    count = math.prod(shape)
    if len(raw) - start != count * np.dtype(dtype).itemsize:
        raise HatchelError(f"{path} is truncated or too long: {len(raw)} bytes; fetch it again")
    return np.frombuffer(raw, dtype, count, offset=start).reshape(shape)
