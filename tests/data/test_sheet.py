"""The contact sheet: traversals first, each of one factor."""

from __future__ import annotations

import numpy as np

from hatchel.data import load
from hatchel.data.dataset import Dataset, contact_sheet


def test_a_row_a_factor_then_random_items() -> None:
    ds = load("xy_squares", size=8)
    page = contact_sheet(ds, seed=0, columns=8)
    assert page.shape == (4 * 10, 8 * 10, 3)
    cells = page.reshape(4, 10, 8, 10, 3)[:, :8, :, :8, 0].transpose(0, 2, 1, 3)  # (row, column, H, W)
    place = cells.reshape(4, 8, 64).argmax(axis=2)
    x, y = place % 8, place // 8
    assert x[0].tolist() == list(range(8))
    assert len(set(y[0])) == 1
    assert y[1].tolist() == list(range(8))
    assert len(set(x[1])) == 1
    assert (page[8] == 128).all()
    np.testing.assert_array_equal(page, contact_sheet(ds, seed=0, columns=8))
    assert (page != contact_sheet(ds, seed=1, columns=8)).any()


def test_without_factors_all_is_random() -> None:
    ds = load("xy_squares", size=8)
    assert contact_sheet(Dataset("n", ds.store), seed=0).shape == (40, 100, 3)
