"""Constant: the same at every step."""

from __future__ import annotations

from torch import Tensor

from hatchel.weights.weight import Weight


class Constant(Weight):
    """w * value."""

    value: float = 1.0
    """w; negative to reward a term."""

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """At every step the same."""
        return self.value * value

    def formula(self, symbol: str) -> str:
        """A weight of 1 is not written."""
        return symbol if self.value == 1 else f"{self.value:g}*{symbol}"
