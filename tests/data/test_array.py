"""One's own arrays: layouts, types, factors, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import load

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (12, 6, 5, 3), dtype=np.uint8)


def save(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path / "a.npz", **arrays)
    return path / "a.npz"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (BYTES, BYTES),
        (BYTES[..., 0], BYTES[..., :1]),
        (BYTES.transpose(0, 3, 1, 2).copy(), BYTES),
        (BYTES / 255.0, BYTES),
        ((BYTES / 255.0).astype(np.float32), BYTES),
        (BYTES > 127, np.where(BYTES > 127, 255, 0)),
        (BYTES.astype(np.int64), BYTES),
    ],
    ids=["NHWC", "NHW", "NCHW", "float64", "float32", "bool", "int64"],
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_images_of_every_layout_and_type(tmp_path: Path, values: np.ndarray, expected: np.ndarray, suffix: str) -> None:
    path = tmp_path / f"own{suffix}"
    np.save(path, values) if suffix == ".npy" else np.savez_compressed(path, values)
    ds = load(path)
    np.testing.assert_array_equal(ds.images(range(12)), expected)
    assert ds.name == "own"
    assert ds.space is None


def test_rows_are_scaled(tmp_path: Path) -> None:
    rows = np.stack([RNG.normal(5, 3, 50), np.full(50, 7.0)], axis=1)
    np.save(tmp_path / "r.npy", rows)
    ds = load(tmp_path / "r.npy")
    assert ds.shape == (2,)
    assert ds.likelihood == "columns"
    encoded = ds.items(np.arange(50))
    np.testing.assert_allclose(encoded[:, 0], (rows[:, 0] - rows[:, 0].mean()) / rows[:, 0].std(), rtol=1e-5)
    assert not encoded[:, 1].any()
    np.testing.assert_allclose(encoded[:, 0] * ds.columns[0].scale + ds.columns[0].mean, rows[:, 0], rtol=1e-5)


def test_factors_come_along(tmp_path: Path) -> None:
    codes = np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1)
    ds = load(save(tmp_path, images=BYTES, factors=codes))
    assert ds.space is not None
    assert ds.space.complete
    np.testing.assert_array_equal(ds.factors([5, 11]), codes[[5, 11]])
    mixed = RNG.permutation(codes)
    ds = load(save(tmp_path, images=BYTES, mine=mixed), factors="mine")
    assert ds.space is not None
    assert not ds.space.complete
    np.testing.assert_array_equal(ds.factors(range(12)), mixed)
    ds = load(save(tmp_path, images=BYTES, labels=codes[:, 0]))
    np.testing.assert_array_equal(ds.factors(range(12)), codes[:, :1])


def test_which_array_can_be_chosen(tmp_path: Path) -> None:
    path = save(tmp_path, one=BYTES, two=BYTES[::-1])
    with pytest.raises(HatchelError, match=r"several arrays \(one, two\); choose one with data.key=one"):
        load(path)
    np.testing.assert_array_equal(load(path, key="two").images([0]), BYTES[11:])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((3, 4, 4), np.nan), "NaN or infinite"),
        (np.full((3, 4, 4), 2.0), "values from 2 to 2; scale them"),
        (np.full((3, 4, 4), 300), "from 0 to 255"),
        (np.zeros((9, 8, 3)), r"one image is x\[None\], 9 grey images of 8x3 are x\[..., None\]"),
        (np.zeros((3, 6, 6, 7)), r"channels second or last\? Set data.channels=first"),
        (np.zeros((3, 4, 4, 3, 2)), r"has the shape \(3, 4, 4, 3, 2\)"),
        (np.zeros((0, 4, 4)), r"has the shape \(0, 4, 4\)"),
        (np.zeros(5), r"has the shape \(5,\)"),
        (np.array([[1.0, np.nan]]), "row 0, column 1"),
        (np.zeros((3, 4, 4), dtype=complex), "not an array of numbers"),
        (np.array([["a", "b"]]), "not an array of numbers"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, values: np.ndarray, message: str) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(HatchelError, match=message):
        load(tmp_path / "a.npy")


def test_large_compressed_images_go_through_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", BYTES)
    assert not isinstance(load(tmp_path / "a.npz").array, np.memmap)
    monkeypatch.setattr("hatchel.data.array.IN_MEMORY", 100)
    assert not isinstance(load(tmp_path / "a.npz", cache=False).array, np.memmap)
    ds = load(tmp_path / "a.npz")
    assert isinstance(ds.array, np.memmap)
    np.testing.assert_array_equal(ds.images(range(12)), BYTES)


def test_bad_factors_are_named(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"factors are \(12,\) or \(12, K\)"):
        load(save(tmp_path, images=BYTES, factors=np.zeros((5, 2), dtype=int)))
    with pytest.raises(HatchelError, match="whole numbers from 0"):
        load(save(tmp_path, images=BYTES, factors=np.full((12, 2), 0.5)))
