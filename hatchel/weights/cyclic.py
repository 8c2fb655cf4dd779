"""Cyclic: annealing again and again."""

from __future__ import annotations

from torch import Tensor

from hatchel.spec import Count, Share
from hatchel.weights.weight import Weight


class Cyclic(Weight):
    """A ramp from `low` to `high` over the first `rise` of every `period`, then flat (Fu et al. 2019)."""

    low: float = 0.0
    """w at the start of a period."""
    high: float = 1.0
    """w on the plateau."""
    period: Count = 10_000
    """Steps of one cycle."""
    rise: Share = 0.5
    """The share of a period that rises."""

    def at(self, step: int) -> float:
        """w(t)."""
        phase = (step % self.period) / self.period
        return self.high if phase >= self.rise else self.low + (self.high - self.low) * phase / self.rise

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """By the step alone."""
        return self.at(step) * value

    def formula(self, symbol: str) -> str:
        """With both ends and the period."""
        return f"({self.low:g}->{self.high:g} every {self.period} steps)*{symbol}"
