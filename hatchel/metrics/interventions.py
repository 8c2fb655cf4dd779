"""Rows that share a factor's value, looked up in one table of codes: nothing is encoded again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.inputs import Labels
from hatchel.metrics.probe import Probe


class SameValue:
    """An index from every value of one factor to its rows: the rows sorted by value, and where each value starts."""

    def __init__(self, labels: Labels) -> None:
        counts = np.bincount(labels)
        starts = np.cumsum(counts) - counts
        self.order = np.argsort(labels, kind="stable")
        self.starts = starts
        self._first = starts[labels]  # (n,) of every row: where the rows with its value start in `order`
        self._count = counts[labels].astype(np.float64)  # (n,) and how many there are

    @classmethod
    def of(cls, probe: Probe, factor: int) -> SameValue:
        """The index of one factor, built once per probe."""
        return probe.once(("same value", factor), lambda: cls(probe.classes[:, factor]))

    def draw(self, like: NDArray[np.int64], rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
        """Rows with the same value as each row of `like`, uniformly and with replacement: like's shape (x size)."""
        shape = like.shape if size is None else (*like.shape, size)
        like = like if size is None else like[..., None]
        offset = rng.random(shape)
        offset *= self._count.take(like)
        places = offset.astype(np.int64)
        places += self._first.take(like)
        return self.order.take(places)


def fixed_factors(probe: Probe, votes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """How often each varying factor is the one held fixed in so many votes: (factor, count)."""
    chosen = rng.integers(len(probe.varying), size=votes)
    counts = np.bincount(chosen, minlength=len(probe.varying))
    return [(int(k), int(c)) for k, c in zip(probe.varying, counts, strict=True)]
