"""A contact sheet: what a data set looks like, on one page."""

from __future__ import annotations

import numpy as np

from hatchel.data.dataset import Dataset
from hatchel.data.factors import Integers
from hatchel.data.store import Pixels

GAP = 2  # pixels between images


def contact_sheet(ds: Dataset, seed: int, columns: int = 10) -> Pixels:
    """A row a factor, from its first to its last value with the others held, where all combinations exist; then random
    items: uint8 (H, W, 3).
    """
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, len(ds), columns) for _ in range(4)]
    if ds.space is not None and ds.space.complete:
        held = ds.space.sample(1, rng)
        rows = [_traversal(ds, held, place, columns) for place in range(len(ds.space.factors))] + rows[:2]
    images = ds.images(np.concatenate(rows))
    height, width, channels = images.shape[1:]
    page = np.full((len(rows), height + GAP, columns, width + GAP, 3), 128, dtype=np.uint8)
    page[:, :height, :, :width] = images.reshape(len(rows), columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return page.reshape(len(rows) * (height + GAP), columns * (width + GAP), 3)


def _traversal(ds: Dataset, held: Integers, place: int, columns: int) -> Integers:
    assert ds.space is not None
    line = np.repeat(held, columns, axis=0)
    line[:, place] = np.linspace(0, ds.space.sizes[place] - 1, columns).round()
    return ds.space.index(line)
