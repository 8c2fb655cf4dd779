"""Estimate: a number with its interval; the one form of scores, means over seeds and differences."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value, its confidence interval [low, high] and how many rows or runs it rests on.

    >>> print(Estimate(0.275, 0.225, 0.325, n=4))
    0.2750 [0.2250, 0.3250]
    >>> Estimate(0.3, n=1).decided, Estimate(0.3, 0.1, 0.5, n=5).decided
    (False, True)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    """Rows of data, or runs."""
    level: float = 0.95
    """Of confidence."""

    @property
    def has_interval(self) -> bool:
        """Whether its spread is known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0, so that a difference has a sign."""
        return self.has_interval and (self.low > 0 or self.high < 0)

    def format(self, digits: int = 4) -> str:
        """`0.275 [0.225, 0.325]`; the interval is left out where it is not known."""
        spread = f" [{self.low:.{digits}f}, {self.high:.{digits}f}]" if self.has_interval else ""
        return f"{self.value:.{digits}f}{spread}"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.format()
