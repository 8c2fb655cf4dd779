from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from hatchel.explorer.uploads import RequestError, as_image, fitted, opened


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def test_lossless_pictures_come_back_exactly() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (12, 12, 3), dtype=np.uint8)
    for kind, options in (("PNG", {}), ("BMP", {}), ("WEBP", {"lossless": True})):
        image = opened(saved(Image.fromarray(pixels), kind, **options))
        assert np.array_equal(fitted(image, (3, 12, 12)), pixels)
    grey = pixels[..., 0]
    assert np.array_equal(fitted(opened(saved(Image.fromarray(grey), "GIF")), (1, 12, 12))[..., 0], grey)


def test_the_middle_is_kept_and_grey_is_the_luminance() -> None:
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = (255, 0, 0)
    found = fitted(Image.fromarray(wide), (1, 10, 10))
    assert (found == 76).all()  # 0.299 of 255
    tall = fitted(Image.fromarray(wide), (3, 20, 10))  # a narrow part of the middle
    assert (tall == (255, 0, 0)).all()


def test_transparent_parts_are_black_and_a_turned_photo_is_upright() -> None:
    clear = Image.new("RGBA", (4, 4), (255, 255, 255, 0))
    assert np.asarray(opened(saved(clear, "PNG"))).max() == 0
    photo = Image.new("RGB", (8, 4))
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    assert opened(saved(photo, "JPEG", exif=exif)).size == (4, 8)


def test_a_small_file_of_one_endless_row_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Image.new("1", (23_999_999, 1)), "PNG")
    assert len(content) < 50_000
    monkeypatch.setattr(Image.Image, "load", None)  # whoever decodes it fails
    with pytest.raises(RequestError, match=r"23999999 x 1 is too large; .* 20,000 on a side") as error:
        opened(content)
    assert error.value.status == 413


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "ICO"])
def test_other_formats_are_refused_by_their_content(kind: str) -> None:
    with pytest.raises(RequestError, match="give one of PNG") as error:
        opened(saved(Image.new("RGB", (16, 16)), kind))
    assert error.value.status == 415


def test_items_that_are_no_pictures() -> None:
    for shape in ((5,), (2, 8, 8)):
        with pytest.raises(RequestError, match="cannot be fitted"):
            fitted(Image.new("RGB", (8, 8)), shape)


def test_pixels_as_a_picture_and_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (6, 5, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(as_image(pixels)), pixels)
    assert np.array_equal(np.asarray(as_image(pixels[..., :1])), pixels[..., 0])
