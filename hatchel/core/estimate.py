"""Estimate: a number with its interval; the one form of scores, means over seeds and differences."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value, its confidence interval [low, high] and how many rows or runs it rests on.

    >>> print(Estimate(0.275, 0.225, 0.325, n=4))
    0.2750 [0.2250, 0.3250]
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

    def format(self, digits: int = 4) -> str:
        """`0.275 [0.225, 0.325]`; the interval is left out where it is not known."""
        spread = f" [{self.low:.{digits}f}, {self.high:.{digits}f}]" if self.has_interval else ""
        return f"{self.value:.{digits}f}{spread}"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.format()
