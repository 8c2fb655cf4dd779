"""Squares whose every pixel is known."""

from __future__ import annotations

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import load


def test_every_pixel_of_one_square() -> None:
    ds = load("xy_squares", size=32, places=8)
    assert len(ds) == 64
    for x in range(8):
        for y in range(8):
            expected = np.zeros((32, 32), dtype=np.uint8)
            expected[4 * y : 4 * y + 4, 4 * x : 4 * x + 4] = 255
            assert ds.space is not None
            np.testing.assert_array_equal(ds.images(ds.space.index([[x, y]]))[0, ..., 0], expected)


def test_three_squares_have_a_channel_each() -> None:
    ds = load("xy_squares", size=8, places=2, squares=3)
    assert ds.space is not None
    assert ds.space.names == ("x_0", "y_0", "x_1", "y_1", "x_2", "y_2")
    numbers = np.arange(len(ds))
    images, factors = ds.images(numbers), ds.factors(numbers)
    assert factors is not None
    for channel in range(3):
        rows, columns = images[..., channel].any(axis=2).argmax(axis=1), images[..., channel].any(axis=1).argmax(axis=1)
        np.testing.assert_array_equal(np.stack([columns, rows], axis=1) // 4, factors[:, 2 * channel : 2 * channel + 2])
    assert (images == 255).sum(axis=(1, 2, 3)).tolist() == [3 * 16] * 64


def test_two_squares_leave_a_channel_black() -> None:
    assert not load("xy_squares", size=8, places=2, squares=2).images(range(16))[..., 2].any()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(HatchelError, match="size=20 is not a multiple of places=8"):
        load("xy_squares", size=20)
    with pytest.raises(HatchelError, match="too many"):
        load("xy_squares", squares=3)
