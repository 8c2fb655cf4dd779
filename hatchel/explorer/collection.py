"""Collection: the items of a run's data that the page picks from, as every run that is looked at reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.data.table import TableColumn
from hatchel.explorer.refusal import Refusal
from hatchel.explorer.uploads import as_image, fitted
from hatchel.latents.likelihoods import Columns
from hatchel.training.run import TrainedRun

CHUNK = 256
"""Items read at once."""

Items = NDArray[Any]
"""uint8 (n, H, W, C), or rows (n, F) in the data's own units."""


class Collection:
    """The first run's data; `items` (n,) are those that were drawn to be encoded."""

    def __init__(self, run: TrainedRun, items: int, seed: int = 0) -> None:
        self.run = run
        self.data = run.data
        count = min(items, len(self.data))
        self.items = np.sort(np.random.default_rng(seed).choice(len(self.data), count, replace=False))
        self.factors = self.data.factors(self.items)  # (n, K), or None
        space = self.data.space
        self.names = space.names if space is not None else None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def pictured(self) -> bool:
        """Images, not the rows of a table."""
        return len(self.run.shape) == 3

    def checked(self, item: int) -> int:
        """A number of an item, or a refusal."""
        if not 0 <= item < len(self):
            raise Refusal(404, f"there is no item {item}; {self.data.name} has the items 0 to {len(self) - 1}")
        return item

    def take(self, numbers: NDArray[np.int64]) -> Items:
        """Items by number, as the first run reads them."""
        if self.pictured:
            return self.data.images(numbers)
        centre, scale = units(self.run)
        return self.data.items(numbers) * scale + centre

    def for_run(self, items: Items, run: TrainedRun) -> Items:
        """The same items in the size and colours of another run."""
        if run.shape == self.run.shape:
            return items
        if not self.pictured or len(run.shape) != 3:
            raise HatchelError(
                f"{run.folder}: reads items of shape {run.shape}, {self.run.folder} of shape {self.run.shape}; "
                "only runs on images, or on rows of the same length, can be compared"
            )
        return np.stack([fitted(as_image(item), run.shape) for item in items])

    def chunks(self) -> Iterator[Items]:
        """The drawn items, some at a time."""
        for start in range(0, len(self.items), CHUNK):
            yield self.take(self.items[start : start + CHUNK])

    def shown(self, item: int) -> dict[str, str]:
        """What an item shows, by the names of its factors."""
        found = self.data.factors([item])
        space = self.data.space
        if found is None or space is None:
            return {}
        return {f.name: value_text(f.values[int(v)]) for f, v in zip(space.factors, found[0], strict=True)}


def columns(run: TrainedRun) -> tuple[TableColumn, ...]:
    """What the values of a row are called; empty for images and for rows without names."""
    likelihood = run.spec.likelihood
    return likelihood.columns if isinstance(likelihood, Columns) else ()


def units(run: TrainedRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What was subtracted from each value of a row, and what it was divided by: (F,) each."""
    known = columns(run)
    centre = [c.mean for c in known for _ in range(c.width)] or [0.0] * run.shape[0]
    scale = [c.scale for c in known for _ in range(c.width)] or [1.0] * run.shape[0]
    return np.array(centre), np.array(scale)


def value_text(value: float | str) -> str:
    """A factor's value in few letters.

    >>> value_text(0.123456), value_text(3.0), value_text("heart")
    ('0.123', '3', 'heart')
    """
    return value if isinstance(value, str) else f"{value:.3g}"
