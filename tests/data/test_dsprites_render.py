"""dSprites' raster against real pixels, an independent raster, and what each factor's name says."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hatchel.data import dsprites_render

REAL = Path(__file__).parent / "real_dsprites.npz"


def unpack(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").reshape(-1, 64, 64)


def image(*factors: int) -> np.ndarray:
    return unpack(dsprites_render.render(dsprites_render.SPACE.index([factors])))[0].astype(float)


def centroid(pixels: np.ndarray) -> np.ndarray:
    y, x = np.nonzero(pixels)
    return np.array([x.mean() + 0.5, y.mean() + 0.5])


def test_all_real_images_are_reproduced_bit_for_bit() -> None:
    real = np.load(REAL)
    drawn = unpack(dsprites_render.render(dsprites_render.SPACE.index(real["factors"])))
    assert len(drawn) == 320
    np.testing.assert_array_equal(drawn, real["images"])


def test_white_pixels_of_the_whole_set_and_checksums_of_a_sample() -> None:
    ones = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
    total = 0
    for start in range(0, len(dsprites_render.SPACE), 16_384):
        words = dsprites_render.render(np.arange(start, min(start + 16_384, len(dsprites_render.SPACE))))
        total += int(ones[words.view(np.uint8)].sum())
    assert total == 128_328_864
    some = dsprites_render.render(np.arange(0, len(dsprites_render.SPACE), 997)).astype("<u8")
    assert hashlib.sha256(some.tobytes()).hexdigest()[:16] == "3a803ec0e2731c3b"


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_an_independent_raster_by_exact_crossings_agrees(shape: int) -> None:
    """Point in polygon with fractions, one pixel at a time, straight from the rule in words."""
    for scale, turn, x, y in [(0, 0, 0, 0), (5, 7, 31, 3), (2, 20, 13, 31)]:
        outline = dsprites_render.outlines()[shape]
        size, angle = np.linspace(0.5, 1, 6)[scale], np.linspace(0, 2 * np.pi, 40)[turn]
        turned = size * outline @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        centre = 16 + 32 * np.linspace(0, 1, 32)[[x, y]]
        corners = np.floor(256 * (centre + turned) + 0.5).astype(int).tolist()
        expected = np.zeros((64, 64), dtype=np.uint8)
        edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
        for row in range(64):
            level = 256 * row + 128
            crossings = [
                x0 + Fraction((level - y0) * (x1 - x0), y1 - y0)
                for (x0, y0), (x1, y1) in edges
                if min(y0, y1) < level <= max(y0, y1)
            ]
            for column in range(64):
                expected[row, column] = sum(c <= 256 * column + 128 for c in crossings) % 2
        np.testing.assert_array_equal(image(shape, scale, turn, x, y), expected)


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_position_moves_the_centroid_and_nothing_else(shape: int) -> None:
    step = 32 / 31
    start = image(shape, 3, 5, 4, 6)
    right, down = image(shape, 3, 5, 24, 6), image(shape, 3, 5, 4, 26)
    np.testing.assert_allclose(centroid(right) - centroid(start), [20 * step, 0], atol=0.3)
    np.testing.assert_allclose(centroid(down) - centroid(start), [0, 20 * step], atol=0.3)
    assert right.sum() == pytest.approx(start.sum(), rel=0.05)


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_scale_sets_the_area(shape: int) -> None:
    x, y = dsprites_render.outlines()[shape].T
    exact = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    for scale, size in enumerate(np.linspace(0.5, 1, 6)):
        area = np.mean([image(shape, scale, turn, x, 16).sum() for turn in (3, 11, 30) for x in (5, 16, 25)])
        assert area == pytest.approx(exact * size**2, rel=0.02)


def test_orientation_turns_counter_clockwise() -> None:
    """The ellipse's long axis, from its second moments."""
    for turn in (2, 8, 15):
        y, x = np.nonzero(image(1, 5, turn, 16, 16))
        covariance = np.cov(x, -y)  # y up, as the eye sees it
        axis = 0.5 * np.arctan2(2 * covariance[0, 1], covariance[0, 0] - covariance[1, 1])
        angle = np.linspace(0, 2 * np.pi, 40)[turn]
        assert np.sin(axis - angle) == pytest.approx(0, abs=0.03)


def test_shapes_are_what_they_are_called() -> None:
    square, ellipse, heart = (image(s, 5, 0, 15, 15) for s in range(3))
    rows, columns = np.flatnonzero(square.any(axis=1)), np.flatnonzero(square.any(axis=0))
    assert square[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
    y, x = np.nonzero(ellipse)
    assert x.std() / y.std() == pytest.approx(1.33**2, rel=0.03)
    top = heart[np.flatnonzero(heart.any(axis=1))[0]]
    assert np.abs(np.diff(top)).sum() == 4  # two lobes
    np.testing.assert_array_equal(image(2, 5, 0, 15, 15), image(2, 5, 39, 15, 15))  # 0 and 2π


def test_order_of_a_batch_does_not_matter() -> None:
    numbers = np.random.default_rng(0).integers(0, len(dsprites_render.SPACE), 700)
    alone = np.concatenate([dsprites_render.render(numbers[i : i + 1]) for i in range(700)])
    np.testing.assert_array_equal(dsprites_render.render(numbers), alone)
