"""Rows that share a factor's value, looked up in one table of codes: nothing is encoded again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.inputs import Labels
from hatchel.metrics.probe import Probe


class SameValue:
    """An index from every value of one factor to its rows: the rows sorted by value, and where each value starts."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.order = np.argsort(labels, kind="stable")
        self.counts = np.bincount(labels)
        self.starts = np.cumsum(self.counts) - self.counts

    @classmethod
    def of(cls, probe: Probe, factor: int) -> SameValue:
        """The index of one factor, built once a probe."""
        return probe.once(("same value", factor), lambda: cls(probe.classes[:, factor]))

    def draw(self, like: NDArray[np.int64], rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
        """Rows with the same value as each row of `like`, uniformly and with replacement: like's shape (x size)."""
        values = self.labels[like]
        if size is not None:
            values = values[..., None]
        shape = like.shape if size is None else (*like.shape, size)
        offset = (rng.random(shape) * self.counts[values]).astype(np.int64)
        return self.order[self.starts[values] + offset]


def fixed_factors(probe: Probe, votes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """How often each varying factor is the one held fixed in so many votes: (factor, count)."""
    chosen = rng.integers(len(probe.varying), size=votes)
    counts = np.bincount(chosen, minlength=len(probe.varying))
    return [(int(k), int(c)) for k, c in zip(probe.varying, counts, strict=True)]
