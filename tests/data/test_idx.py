"""IDX and smallNORB matrices, written by hand."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data.formats import read_idx, read_matrix

VALUES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
IDX = bytes([0, 0, 8, 3]) + struct.pack(">3i", 2, 3, 4) + VALUES.tobytes()


@pytest.mark.parametrize("packed", [False, True])
def test_idx_raw_and_gzipped(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(IDX) if packed else IDX)
    np.testing.assert_array_equal(read_idx(tmp_path / "f", (2, 3, 4)), VALUES)


def test_idx_of_big_endian_numbers(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes([0, 0, 0x0C, 1]) + struct.pack(">3i", 2, 70_000, -5))
    assert read_idx(tmp_path / "f", (2,)).tolist() == [70_000, -5]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (IDX[:-1], "truncated or too long"),
        (IDX + b"x", "truncated or too long"),
        (IDX[:9], "holds an array of shape"),
        (b"", "not an IDX file"),
        (b"PK\3\4 something", "not an IDX file: its first bytes are 504b0304"),
        (gzip.compress(IDX, mtime=0)[:-12], "may be truncated"),
        (bytes([0, 0, 8, 3]) + struct.pack(">3i", 4, 3, 2) + VALUES.tobytes(), r"shape \(4, 3, 2\); \(2, 3, 4\)"),
    ],
)
def test_broken_idx_is_named(tmp_path: Path, raw: bytes, message: str) -> None:
    (tmp_path / "f").write_bytes(raw)
    with pytest.raises(HatchelError, match=message):
        read_idx(tmp_path / "f", (2, 3, 4))


def test_a_wrong_checksum_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(IDX)
    with pytest.raises(HatchelError, match="checksum differs from 0123"):
        read_idx(tmp_path / "f", (2, 3, 4), "0123")


def test_matrices_write_at_least_three_sizes(tmp_path: Path) -> None:
    """Magic, dimensions, sizes: a vector has two sizes of 1 after its own."""
    (tmp_path / "v").write_bytes(struct.pack("<5i", 0x1E3D4C54, 1, 2, 1, 1) + struct.pack("<2i", 7, -8))
    assert read_matrix(tmp_path / "v", (2,)).tolist() == [7, -8]
    (tmp_path / "m").write_bytes(struct.pack("<6i", 0x1E3D4C55, 4, 1, 2, 3, 4) + VALUES.tobytes())
    np.testing.assert_array_equal(read_matrix(tmp_path / "m", (1, 2, 3, 4))[0], VALUES)
    (tmp_path / "x").write_bytes(b"12345678")
    with pytest.raises(HatchelError, match="not a binary matrix"):
        read_matrix(tmp_path / "x", (2,))
