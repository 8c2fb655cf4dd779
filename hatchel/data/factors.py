"""FactorSpace: the ground-truth factors of a data set, and every way of sampling them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hatchel.core.errors import HatchelError, unknown

FactorKind = Literal["discrete", "continuous", "cyclic"]
Integers = NDArray[np.int64]
Condition = Mapping[str, int | Iterable[int]]


@dataclass(frozen=True)
class Factor:
    """One cause of variation: its name, the value that each of its indices stands for, and how values neighbour."""

    name: str
    values: tuple[float | str, ...]
    kind: FactorKind = "discrete"

    @property
    def size(self) -> int:
        """How many values it takes."""
        return len(self.values)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """(size,): the values of an ordered factor; NaN for classes without an order."""
        return np.array(self.values if self.kind != "discrete" else [np.nan] * self.size, dtype=np.float64)


@dataclass(frozen=True)
class FactorSpace:
    """The factors of a data set; where it is `complete`, item i is combination i of the grid, last factor fastest.

    >>> space = FactorSpace((Factor("shape", ("square", "heart")), Factor("x", (0.0, 0.5, 1.0), "continuous")))
    >>> space.sizes, len(space)
    ((2, 3), 6)
    >>> space.index([[1, 0], [1, 2]])
    array([3, 5])
    >>> space.at([3, 5])
    array([[1, 0],
           [1, 2]])
    """

    factors: tuple[Factor, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        if not self.factors:
            raise HatchelError("a factor space needs at least one factor")
        for factor in self.factors:
            if not factor.values:
                raise HatchelError(f"the factor {factor.name!r} has no values")
            if self.names.count(factor.name) > 1:
                raise HatchelError(f"two factors are called {factor.name!r}")

    def __len__(self) -> int:
        return math.prod(self.sizes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.factors)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor takes."""
        return tuple(f.size for f in self.factors)

    @property
    def kinds(self) -> tuple[FactorKind, ...]:
        """discrete, continuous or cyclic, factor by factor."""
        return tuple(f.kind for f in self.factors)

    @property
    def values(self) -> tuple[tuple[float | str, ...], ...]:
        """What each index of each factor stands for."""
        return tuple(f.values for f in self.factors)

    def position(self, name: str) -> int:
        """The column of a factor."""
        if name not in self.names:
            raise unknown("factor", name, self.names)
        return self.names.index(name)

    def checked(self, factors: ArrayLike) -> Integers:
        """`factors` as integers (n, K), each within its factor's size, or an error that names the value."""
        array = np.asarray(factors)
        if array.ndim != 2 or array.shape[1] != len(self.factors):
            raise HatchelError(f"factors must have the shape (n, {len(self.factors)}), got {array.shape}")
        if not np.issubdtype(array.dtype, np.integer):
            raise HatchelError(f"factors are integer indices into the values of each factor, got {array.dtype}")
        wrong = (array < 0) | (array >= np.array(self.sizes))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            factor = self.factors[column]
            raise HatchelError(
                f"row {row}: {factor.name} = {array[row, column]} is out of range; it takes 0 to {factor.size - 1}"
            )
        return array.astype(np.int64, copy=False)

    def index(self, factors: ArrayLike) -> Integers:
        """The item that shows each combination: (n, K) -> (n,)."""
        self._grid("index")
        return np.asarray(np.ravel_multi_index(tuple(self.checked(factors).T), self.sizes), dtype=np.int64)

    def at(self, indices: ArrayLike) -> Integers:
        """The combination that each item shows: (n,) -> (n, K), the inverse of `index`."""
        self._grid("at")
        return np.stack(np.unravel_index(checked_indices(indices, len(self)), self.sizes), axis=1)

    def sample(self, n: int, rng: np.random.Generator, fixed: Mapping[str, int] | None = None) -> Integers:
        """Combinations drawn uniformly, some factors held at a value: (n, K)."""
        drawn = rng.integers(0, np.array(self.sizes), size=(n, len(self.factors)))
        for name, value in (fixed or {}).items():
            drawn[:, self.position(name)] = value
        return self.checked(drawn)

    def pairs(self, n: int, rng: np.random.Generator, differ: int) -> tuple[Integers, Integers]:
        """Pairs that differ in exactly `differ` factors, drawn anew for each pair: two arrays (n, K)."""
        free = np.array([size > 1 for size in self.sizes])
        if not 0 <= differ <= free.sum():
            raise HatchelError(f"pairs can differ in 0 to {free.sum()} factors, not in {differ}")
        first = self.sample(n, rng)
        ranks = np.where(free, rng.random(first.shape), 2.0).argsort(axis=1).argsort(axis=1)
        steps = rng.integers(1, np.maximum(np.array(self.sizes), 2), size=first.shape)
        second = np.where(ranks < differ, (first + steps) % np.array(self.sizes), first)
        return first, second

    def correlated(self, n: int, rng: np.random.Generator, between: tuple[str, str], strength: float) -> Integers:
        """Combinations in which two factors go together: (n, K).

        p(a, b) ∝ exp(-(a - b)² / 2σ²) with a and b scaled to [0, 1] and σ = `strength` (Träuble et al. 2021, eq. 1;
        0.2 is their strong and 0.7 their weak correlation; infinity is none). The other factors stay uniform.
        """
        if not strength > 0:
            raise HatchelError(f"strength is the width σ of the diagonal band and must be above 0, got {strength}")
        first, second = (self.position(name) for name in between)
        if first == second:
            raise HatchelError(f"correlated needs two different factors, got {between[0]!r} twice")
        a, b = (np.arange(self.sizes[p]) / max(self.sizes[p] - 1, 1) for p in (first, second))
        weights = np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * strength**2))
        cells = rng.choice(weights.size, size=n, p=(weights / weights.sum()).ravel())
        drawn = self.sample(n, rng)
        drawn[:, first], drawn[:, second] = np.unravel_index(cells, weights.shape)
        return drawn

    def hold_out(self, *conditions: Condition) -> tuple[Integers, Integers]:
        """Items for training and the items held out: those that meet all parts of any of the conditions.

        >>> space = FactorSpace((Factor("shape", ("square", "heart")), Factor("x", (0.0, 0.5, 1.0))))
        >>> space.hold_out({"shape": 1, "x": (1, 2)})
        (array([0, 1, 2, 3]), array([4, 5]))
        """
        self._grid("hold_out")
        held = np.zeros(self.sizes, dtype=bool)
        for condition in conditions:
            held[np.ix_(*self._allowed(condition))] = True
        flat = held.ravel()
        if flat.all():
            raise HatchelError("hold_out leaves nothing to train on")
        return np.flatnonzero(~flat), np.flatnonzero(flat)

    def _allowed(self, condition: Condition) -> Sequence[Integers]:
        allowed = [np.arange(size) for size in self.sizes]
        for name, value in condition.items():
            place = self.position(name)
            chosen = np.atleast_1d(np.asarray(value if isinstance(value, int) else list(value), dtype=np.int64))
            if chosen.size and (chosen.min() < 0 or chosen.max() >= self.sizes[place]):
                raise HatchelError(f"{name} takes 0 to {self.sizes[place] - 1}, got {chosen.tolist()}")
            allowed[place] = chosen
        return allowed

    def _grid(self, what: str) -> None:
        if not self.complete:
            raise HatchelError(
                f"{what} needs every combination of the factors exactly once, and this data set is only a sample of "
                "them; use its factors(indices)"
            )


def checked_indices(indices: ArrayLike, length: int) -> Integers:
    """Item numbers as an int64 vector, each within the data set, or an error that names the first that is not."""
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise HatchelError(f"indices must be a vector of integers, got {array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= length):
        wrong = array[(array < 0) | (array >= length)][0]
        raise HatchelError(f"index {wrong} is out of range; the data set has the items 0 to {length - 1}")
    return array.astype(np.int64, copy=False)
