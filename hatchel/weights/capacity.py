"""Capacity: a value held at a set point that climbs."""

from __future__ import annotations

from torch import Tensor

from hatchel.spec import Count, NonNegative
from hatchel.weights.weight import Weight, climb


class Capacity(Weight):
    """gamma * |value - C(t)|, C linear from `start` to `end` nats over `steps` (Burgess et al. 2018, Eq. 8)."""

    gamma: NonNegative = 1000.0
    """How hard the value is held at C."""
    start: NonNegative = 0.5
    """C at step 0."""
    end: NonNegative = 25.0
    """C at the end."""
    steps: Count = 100_000
    """Length of the climb."""

    def at(self, step: int) -> float:
        """C(t)."""
        return climb(self.start, self.end, step, self.steps)

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """Of the batch mean, not row by row."""
        return self.gamma * (value - self.at(step)).abs()

    def formula(self, symbol: str) -> str:
        """With the set points."""
        return f"{self.gamma:g}*|{symbol} - C(t)|, C: {self.start:g}->{self.end:g} nats in {self.steps} steps"
