"""PI: ControlVAE's controller."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hatchel.errors import HatchelError
from hatchel.spec import Count, NonNegative, Positive
from hatchel.weights.weight import Weight, climb


class PI(Weight, kind="pi"):
    """beta(t) = Kp / (1 + exp e) - Ki sum e + low, e = C(t) - value: ControlVAE (Shao et al. 2020, Eqs. 7-8).

    The sum does not grow while beta is at a bound (anti-windup, its Algorithm 1). C(t) climbs from `start` to `target`.
    """

    target: Positive = 20.0
    """The set point in nats."""
    start: NonNegative = 0.5
    """C at step 0."""
    steps: Count = 100_000
    """Length of the climb to the target."""
    kp: NonNegative = 0.01
    """Of the non-linear proportional part."""
    ki: NonNegative = 0.001
    """Of the integral part."""
    low: NonNegative = 0.0
    """Smallest beta."""
    high: Positive = 100.0
    """Largest beta."""

    def check(self) -> None:
        """The bounds must leave room."""
        if self.low >= self.high:
            raise HatchelError(f"low: must be below high, got {self.low:g} and {self.high:g}")

    def at(self, step: int) -> float:
        """C(t)."""
        return climb(self.start, self.target, step, self.steps)

    def initial_state(self) -> Tensor:
        """(the integral part, beta)."""
        return torch.zeros(2, dtype=torch.float64)

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """One controller step on the measured value, then beta * value; beta carries no gradient."""
        error = self.at(step) - float(value.detach())
        proportional = self.kp * falling(error)
        integral = float(state[0])
        grown = integral - self.ki * error
        if self.low < proportional + grown + self.low < self.high or abs(grown) < abs(integral):
            integral = grown
        beta = min(self.high, max(self.low, proportional + integral + self.low))
        state.copy_(torch.tensor([integral, beta], dtype=torch.float64))
        return beta * value

    def formula(self, symbol: str) -> str:
        """With the set point."""
        return f"beta(t)*{symbol}, beta by PI control to {self.target:g} nats"


def falling(error: float) -> float:
    """1 / (1 + exp e), 0 where exp would overflow."""
    return 1.0 / (1.0 + math.exp(min(error, 700.0)))
