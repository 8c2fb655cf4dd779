"""Ramp: annealing."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge
from torch import Tensor

from hatchel.spec import Count
from hatchel.weights.weight import Weight, climb


class Ramp(Weight):
    """w(t) from `start` to `end`, linear over `steps` after `delay`: KL annealing."""

    start: float = 0.0
    """w before the ramp."""
    end: float = 1.0
    """w after it."""
    steps: Count = 10_000
    """Length of the ramp."""
    delay: Annotated[int, Ge(0)] = 0
    """Steps before it begins."""

    def at(self, step: int) -> float:
        """w(t)."""
        return climb(self.start, self.end, step - self.delay, self.steps)

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """By the step alone."""
        return self.at(step) * value

    def formula(self, symbol: str) -> str:
        """With both ends."""
        return f"({self.start:g}->{self.end:g} in {self.steps} steps)*{symbol}"
