"""MNIST and what is derived from it: the real files where they are at hand, made-up ones of the same form elsewhere."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hatchel.core.errors import HatchelError
from hatchel.data import load, mnist
from hatchel.data.mnist import padded, rotated, thickness, width


def test_the_real_files(real_data: Path) -> None:
    train, test = (load("mnist", path=str(real_data / "mnist"), part=p) for p in ("train", "test"))
    digits = train.factors(range(60_000))
    assert digits is not None
    # The counts of the digits, as published with the data.
    assert np.bincount(digits[:, 0]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert digits[:5, 0].tolist() == [5, 0, 4, 1, 9]
    assert (len(train), len(test)) == (60_000, 10_000)
    assert train.images(range(60_000))[:, 2:-2, 2:-2].mean() == pytest.approx(33.318421, abs=1e-5)
    together = load("mnist", path=str(real_data / "mnist"), part="all", size=28)
    np.testing.assert_array_equal(together.images([60_000])[0], test.images([0])[0, 2:-2, 2:-2])


def test_the_real_fashion(real_data: Path) -> None:
    ds = load("fashion_mnist", path=str(real_data / "fashion_mnist"))
    kinds = ds.factors(range(60_000))
    assert kinds is not None
    assert np.bincount(kinds[:, 0]).tolist() == [6000] * 10
    assert ds.images(range(60_000))[:, 2:-2, 2:-2].mean() == pytest.approx(72.940353, abs=1e-5)
    assert ds.space is not None
    assert ds.space.values[0][9] == "ankle boot"


def write(folder: Path, half: str, images: np.ndarray, labels: np.ndarray) -> None:
    n = len(images)
    raw = bytes([0, 0, 8, 3]) + struct.pack(">3i", n, 28, 28) + images.tobytes()
    (folder / f"{half}-images-idx3-ubyte.gz").write_bytes(gzip.compress(raw, 1))
    (folder / f"{half}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">i", n) + labels.tobytes())


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, np.ndarray, np.ndarray]:
    """60,000 small pictures: bars whose height is their thickness; checksums cannot be those of MNIST."""
    rng = np.random.default_rng(0)
    labels = (np.arange(60_000) % 10).astype(np.uint8)
    images = np.zeros((60_000, 28, 28), dtype=np.uint8)
    tall, wide = rng.integers(1, 9, 60_000), rng.integers(10, 27, 60_000)
    rows, columns = np.arange(28)[:, None], np.arange(28)
    images[(rows < tall[:, None, None]) & (columns < wide[:, None, None])] = 255
    write(tmp_path, "train", images, labels)
    files = tuple(mnist.RemoteFile(f.name, f.mirrors, f.page) for f in mnist.MNIST_FILES)
    monkeypatch.setattr(mnist, "MNIST_FILES", files)
    monkeypatch.setattr(mnist.read_split, "__defaults__", (files,))
    monkeypatch.setattr(mnist.MNIST, "files", files)
    return tmp_path, images, labels


def test_form_labels_and_frame(made_up: tuple[Path, np.ndarray, np.ndarray]) -> None:
    path, images, labels = made_up
    ds = load("mnist", path=str(path))
    assert ds.shape == (1, 32, 32)
    np.testing.assert_array_equal(ds.images([3, 77])[:, 2:-2, 2:-2, 0], images[[3, 77]])
    assert ds.images([3]).sum() == images[3].sum()
    np.testing.assert_array_equal(ds.factors(range(60_000)), labels[:, None])


def test_wrong_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"train-images-idx3-ubyte.gz, and it is not in .*hatchel data get mnist"):
        load("mnist", path=str(tmp_path))
    write(tmp_path, "train", np.zeros((1, 28, 28), np.uint8), np.zeros(1, np.uint8))
    with pytest.raises(HatchelError, match="not the original file: its checksum differs"):
        load("mnist", path=str(tmp_path))


def test_rotation_has_six_domains_of_the_same_digits(made_up: tuple[Path, np.ndarray, np.ndarray]) -> None:
    ds = load("mnist_rotation", path=str(made_up[0]), size=28)
    codes = ds.factors(range(6000))
    assert codes is not None
    assert np.unique(codes, axis=0, return_counts=True)[1].tolist() == [100] * 60
    assert (codes[:, 0] == np.arange(6000) // 1000).all()
    images = ds.images(range(6000))[..., 0]
    for angle in range(6):
        np.testing.assert_array_equal(images[1000 * angle : 1000 * angle + 3], rotated(images[:3], 15 * angle))
    redrawn = load("mnist_rotation", path=str(made_up[0]), size=28, redraw=True).images(range(6000))[..., 0]
    np.testing.assert_array_equal(redrawn[:1000], images[:1000])
    assert (redrawn[1000:] != images[1000:]).any()
    other = load("mnist_rotation", path=str(made_up[0]), size=28, seed=1).images(range(1000))[..., 0]
    assert (other != images[:1000]).any()


def test_an_angle_can_be_left_out(made_up: tuple[Path, np.ndarray, np.ndarray]) -> None:
    path = str(made_up[0])
    for redraw in (False, True):  # the digits of an angle do not depend on which others are shown
        whole = load("mnist_rotation", path=path, redraw=redraw)
        part = load("mnist_rotation", path=path, redraw=redraw, angles=(75, 15))
        assert part.space.factors[0].values == (75.0, 15.0)
        np.testing.assert_array_equal(part.images(range(1000)), whole.images(range(5000, 6000)))
        np.testing.assert_array_equal(part.images(range(1000, 2000)), whole.images(range(1000, 2000)))
        codes, all_codes = part.factors(range(2000)), whole.factors(range(6000))
        assert codes is not None
        assert all_codes is not None
        assert (codes[:, 0] == np.repeat([0, 1], 1000)).all()
        np.testing.assert_array_equal(codes[:1000, 1], all_codes[5000:, 1])
    for angles in ((), (0, 0), (10,)):
        with pytest.raises(HatchelError, match="angles: expected some of 0, 15, 30"):
            load("mnist_rotation", path=path, angles=angles)


def test_rotation_is_counter_clockwise_and_bilinear() -> None:
    image = np.zeros((1, 29, 29), dtype=np.uint8)
    image[0, 14, 20:25] = 255  # to the right of the centre
    np.testing.assert_array_equal(rotated(image, 90)[0], np.rot90(image[0]))
    y, x = np.nonzero(rotated(image, 30)[0] > 60)
    assert np.rad2deg(np.arctan2(14 - y.mean(), x.mean() - 14)) == pytest.approx(30, abs=2)


def test_pruning_takes_the_thickest_sevens_and_narrowest_zeros(made_up: tuple[Path, np.ndarray, np.ndarray]) -> None:
    kept, removed = (
        load("pruned_mnist", path=str(made_up[0]), part=p, thick=0.2, narrow=0.1) for p in ("kept", "removed")
    )
    assert len(kept) + len(removed) == 60_000
    digits, out = removed.factors(range(len(removed)))[:, 0], removed.images(range(len(removed)))[:, 2:-2, 2:-2, 0]
    assert np.bincount(digits, minlength=10).tolist() == [600, 0, 0, 0, 0, 0, 0, 1200, 0, 0]
    left = kept.factors(range(len(kept)))[:, 0]
    rest = kept.images(range(len(kept)))[:, 2:-2, 2:-2, 0]
    assert thickness(out[digits == 7]).min() >= thickness(rest[left == 7]).max()
    assert width(out[digits == 0]).max() <= width(rest[left == 0]).min()
    assert out[digits == 0].any(axis=1).sum(axis=1).max() <= rest[left == 0].any(axis=1).sum(axis=1).min()


def test_thickness_and_width_of_bars() -> None:
    """A long bar: 2·L·w / (2·(L + w)), up to the rounding of four corners by the grid."""
    image = np.zeros((4, 60, 60), dtype=np.uint8)
    for number, thick in enumerate((2, 3, 5, 8)):
        image[number, 20 : 20 + thick, 5:55] = 255
    expected = [50 * w / (50 + w) for w in (2, 3, 5, 8)]
    np.testing.assert_allclose(thickness(image), expected, rtol=0.03)
    np.testing.assert_allclose(width(image), 50)
    np.testing.assert_allclose(width(image.transpose(0, 2, 1)), [2, 3, 5, 8])
    faint = image.copy()
    faint[:, :, 55] = np.where(image[:, :, 54] > 0, 191, 0)  # three quarters of a pixel more
    np.testing.assert_allclose(width(faint), 50.888, atol=0.2)


def test_thickness_grows_with_real_strokes(real_data: Path) -> None:
    from scipy import ndimage

    digits = load("mnist", path=str(real_data / "mnist"), part="test", size=28).images(range(200))[..., 0]
    thin = np.stack([ndimage.grey_erosion(d, size=(2, 2)) for d in digits])
    thick = np.stack([ndimage.grey_dilation(d, size=(2, 2)) for d in digits])
    assert (thickness(thin) < thickness(digits)).mean() > 0.97
    assert (thickness(digits) < thickness(thick)).mean() > 0.97
    assert np.median(width(thick) - width(digits)) == pytest.approx(1, abs=0.1)


def test_frame() -> None:
    assert padded(np.ones((1, 28, 28), np.uint8), 32)[0, :, :, 0].sum(axis=0).tolist() == [0, 0, *[28] * 28, 0, 0]


def test_images_and_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    savemat(tmp_path / "train_32x32.mat", {"X": images, "y": np.array([[1], [10], [9], [2]], dtype=np.uint8)})
    with pytest.raises(HatchelError, match=r"X has the shape \(32, 32, 3, 4\); \(32, 32, 3, 73257\)"):
        load("svhn", path=str(tmp_path))
    monkeypatch.setitem(mnist.SVHN_COUNTS, "train", 4)
    ds = load("svhn", path=str(tmp_path))
    np.testing.assert_array_equal(ds.images([0, 3]), images.transpose(3, 0, 1, 2)[[0, 3]])
    assert ds.factors(range(4)).tolist() == [[1], [0], [9], [2]]
    with pytest.raises(HatchelError, match=r"needs the file test_32x32.mat"):
        load("svhn", path=str(tmp_path), part="test")
    (tmp_path / "test_32x32.mat").write_bytes(b"rubbish")
    with pytest.raises(HatchelError, match="cannot be read as a MATLAB file"):
        load("svhn", path=str(tmp_path), part="test")
