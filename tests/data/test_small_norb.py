"""smallNORB from files of its form; both halves put into the order of the factors."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import load, small_norb
from hatchel.data.factors import Factor, FactorSpace


def matrix(values: np.ndarray) -> bytes:
    sizes = (*values.shape, *[1] * (3 - values.ndim))
    magic = 0x1E3D4C55 if values.dtype == np.uint8 else 0x1E3D4C54
    return struct.pack(f"<{2 + len(sizes)}i", magic, values.ndim, *sizes) + values.tobytes()


@pytest.fixture
def norb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two categories of four instances, the rest of the factors cut short; a picture's grey is its place."""
    sizes = (2, 4, 1, 3, 2)
    names = small_norb.SPACE.names
    space = FactorSpace(tuple(Factor(n, tuple(float(v) for v in range(k))) for n, k in zip(names, sizes, strict=True)))
    monkeypatch.setattr(small_norb, "SPACE", space)
    monkeypatch.setattr(small_norb, "HALF", 24)
    order = np.random.default_rng(0).permutation(48)
    for half, stem in enumerate(small_norb.STEMS):
        numbers = order[24 * half : 24 * half + 24]
        codes = space.at(numbers)
        images = np.zeros((24, 2, 96, 96), dtype=np.uint8)
        images[:, 0] = numbers[:, None, None]
        images[:, 1] = 255  # the right camera
        info = (codes[:, 1:] * [1, 1, 2, 1]).astype(np.int32)
        for what, values in (("dat", images), ("cat", codes[:, 0].astype(np.int32)), ("info", info)):
            raw = matrix(values)
            name = f"{stem}-{what}.mat"
            (tmp_path / (name if half else f"{name}.gz")).write_bytes(raw if half else gzip.compress(raw, 1))
    return tmp_path


@pytest.mark.parametrize("size", [64, 96])
def test_images_are_in_the_order_of_the_factors(norb: Path, size: int) -> None:
    ds = load("small_norb", path=str(norb), size=size)
    assert ds.shape == (1, size, size)
    np.testing.assert_array_equal(ds.images(range(48))[:, 5, 5, 0], np.arange(48))


def test_missing_truncated_and_mixed_up_files_are_named(norb: Path) -> None:
    second = norb / f"{small_norb.STEMS[1]}-cat.mat"
    raw = second.read_bytes()
    second.write_bytes(raw[:-4])
    with pytest.raises(HatchelError, match=r"cat.mat is truncated"):
        load("small_norb", path=str(norb))
    second.write_bytes(matrix(np.zeros(24, np.int32)))
    with pytest.raises(HatchelError, match="every combination once"):
        load("small_norb", path=str(norb))
    second.unlink()
    with pytest.raises(HatchelError, match=r"needs the file smallnorb.*testing-cat.mat.gz"):
        load("small_norb", path=str(norb))


def test_the_real_grid_is_the_real_count() -> None:
    assert len(small_norb.SPACE) == 48_600
