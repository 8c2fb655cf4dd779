"""A folder of pictures: cropped, resized, labelled, and what is wrong with some of them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.data import load
from hatchel.data.images import Pictures, resized


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    root = tmp_path / "photos"
    for folder, colour in (("cats", (200, 10, 10)), ("dogs", (10, 10, 200))):
        (root / folder).mkdir(parents=True)
        for number in range(3):
            noise = rng.integers(0, 20, (40 + 10 * number, 30, 3))
            Image.fromarray((np.array(colour) + noise).astype(np.uint8)).save(root / folder / f"{number}.png")
    return root


def test_the_centred_square_is_kept(tmp_path: Path) -> None:
    """Stripes outside of the centred square must not be seen."""
    wide = np.zeros((20, 60, 3), dtype=np.uint8)
    wide[:, :20], wide[:, 20:40], wide[:, 40:] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    Image.fromarray(wide.transpose(1, 0, 2)).save(tmp_path / "tall.png")
    images = load(tmp_path, size=10).images([0, 1])
    assert (images == [0, 255, 0]).all()


def test_pixels_are_pillows(photos: Path) -> None:
    ds = load(photos, size=16)
    with Image.open(photos / "cats" / "2.png") as image:
        expected = np.asarray(image.crop((0, 15, 30, 45)).resize((16, 16), Image.Resampling.LANCZOS))
    np.testing.assert_array_equal(ds.images([2])[0], expected)
    np.testing.assert_array_equal(load(photos, size=16, cache=False).images(range(6)), ds.images(range(6)))


def test_sub_folders_are_labels(photos: Path) -> None:
    ds = load(photos, size=8)
    assert ds.space is not None
    assert ds.space.names == ("folder",)
    assert ds.space.values == (("cats", "dogs"),)
    assert not ds.space.complete
    assert ds.factors(range(6)).tolist() == [[0], [0], [0], [1], [1], [1]]
    assert load(photos, size=8, labels=False).space is None
    assert load(photos / "cats", size=8).space is None


def test_grey_and_other_modes(tmp_path: Path) -> None:
    for mode in ("L", "RGBA", "P", "1", "CMYK"):
        Image.new(mode, (5, 5)).save(tmp_path / f"{mode}.{'jpg' if mode == 'CMYK' else 'png'}")
    assert load(tmp_path, size=4).shape == (3, 4, 4)
    assert load(tmp_path, size=4, colour=False).shape == (1, 4, 4)


def test_changed_files_are_seen_again(photos: Path) -> None:
    before = load(photos, size=8).images([0])
    Image.new("RGB", (9, 9), (1, 2, 3)).save(photos / "cats" / "0.png")
    after = load(photos, size=8).images([0])
    assert (after == [1, 2, 3]).all()
    assert (before != after).any()


@pytest.mark.parametrize("damage", ["truncated", "text"])
@pytest.mark.parametrize("cache", [True, False])
def test_unreadable_pictures_are_named_or_skipped(photos: Path, damage: str, cache: bool) -> None:
    path = photos / "cats" / "1.png"
    path.write_bytes(path.read_bytes()[:200] if damage == "truncated" else b"not a picture")
    with pytest.raises(HatchelError, match=r"cats.1.png cannot be read as an image.*unreadable=skip"):
        load(photos, size=8, cache=cache).images(range(6))
    with pytest.warns(UserWarning, match=r"left out 1 unreadable image: cats.1.png"):
        ds = load(photos, size=8, cache=cache, unreadable="skip")
    assert len(ds) == 5
    assert ds.factors(range(5)).tolist() == [[0], [0], [1], [1], [1]]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="has no images in it"):
        load(tmp_path)
    (tmp_path / "a.png").write_text("x")
    with pytest.raises(HatchelError, match="none of the 1 images"):
        load(tmp_path, unreadable="skip")


def test_pictures_in_a_zip(photos: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.write(photos / "cats" / "0.png", "in/0.png")
    pictures = Pictures(str(tmp_path / "p.zip"), ("in/0.png",), 8, True)
    expected = load(photos, size=8).images([0])
    np.testing.assert_array_equal(pictures(np.array([0])), expected)


def test_shrunk_keeps_a_flat_colour_and_order() -> None:
    images = np.arange(6, dtype=np.uint8)[:, None, None, None] * np.ones((1, 12, 12, 3), dtype=np.uint8)
    np.testing.assert_array_equal(resized(images, 4), images[:, :4, :4])
    assert resized(images[..., :1], 4).shape == (6, 4, 4, 1)


def test_a_part_of_other_proportions(tmp_path: Path) -> None:
    # Left half black, right half white: the middle of a wide picture has the edge in its middle too.
    wide = np.zeros((10, 40), np.uint8)
    wide[:, 20:] = 255
    Image.fromarray(wide).save(tmp_path / "a.png")
    found = load(tmp_path, size=10, width=20, colour=False, cache=False)
    assert found.shape == (1, 10, 20)
    np.testing.assert_array_equal(found.images([0])[0, :, :, 0], wide[:, 10:30])
    tall = load(tmp_path, size=10, width=5, colour=False, cache=False).images([0])
    np.testing.assert_array_equal(tall[0, :, :, 0], wide[:, 17:22])
