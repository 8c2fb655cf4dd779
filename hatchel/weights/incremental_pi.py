"""IncrementalPI: DynamicVAE's controller."""

from __future__ import annotations

import torch
from torch import Tensor

from hatchel.errors import HatchelError
from hatchel.spec import Count, NonNegative, Positive
from hatchel.weights.pi import falling
from hatchel.weights.weight import Weight, climb


class IncrementalPI(Weight, kind="incremental_pi"):
    """beta(t) = beta(t-1) + Kp (s(e(t)) - s(e(t-1))) - Ki e(t), s(e) = 1 / (1 + exp e): DynamicVAE (Shao et al. 2022).

    e(t) = C(t) - the mean of the last `window` values. C stays at `start` for one `period`; from then on it grows by
    `increment` over the first `ramp` steps of each period, up to `target` (the paper's hybrid annealing). beta starts
    large and is cut to its bounds at every step, so that nothing winds up.
    """

    target: Positive = 20.0
    """The last set point in nats."""
    start: NonNegative = 0.5
    """The first set point."""
    increment: Positive = 0.15
    """How much the set point grows a period."""
    period: Count = 6000
    """Steps between two increments."""
    ramp: Count = 1000
    """Steps over which an increment is spread; 1 makes it a jump."""
    window: Count = 5
    """T, how many values the moving average has."""
    kp: NonNegative = 0.01
    """Of the non-linear proportional part."""
    ki: NonNegative = 0.001
    """Of the integral part."""
    initial: Positive = 150.0
    """beta before the first step: large, so that little information passes at first."""
    low: NonNegative = 0.1
    """Smallest beta."""
    high: Positive = 150.0
    """Largest beta."""

    def check(self) -> None:
        """The bounds must hold the initial beta, and an increment must end before the next."""
        if not self.low <= self.initial <= self.high or self.low == self.high:
            raise HatchelError(
                f"initial: must lie between low and high, got {self.initial:g} for {self.low:g} to {self.high:g}"
            )
        if self.ramp > self.period:
            raise HatchelError(f"ramp: must be at most the period of {self.period} steps, got {self.ramp}")
        if self.start > self.target:
            raise HatchelError(f"start: must be at most the target of {self.target:g} nats, got {self.start:g}")

    def at(self, step: int) -> float:
        """C(t)."""
        periods, phase = divmod(step, self.period)
        if periods == 0:
            return self.start
        grown = periods - 1 + climb(0, 1, phase, self.ramp)
        return min(self.target, self.start + self.increment * grown)

    def initial_state(self) -> Tensor:
        """(beta, the last error, how many values are known, those values)."""
        state = torch.zeros(3 + self.window, dtype=torch.float64)
        state[0] = self.initial
        return state

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """One controller step on the averaged value, then beta * value; beta carries no gradient."""
        beta, before, count, *seen = state.tolist()
        seen = [float(value.detach()), *seen[:-1]]
        known = min(int(count) + 1, self.window)
        error = self.at(step) - sum(seen[:known]) / known
        change = self.kp * (falling(error) - falling(before)) - self.ki * error
        beta = min(self.high, max(self.low, beta + change))
        state.copy_(torch.tensor([beta, error, known, *seen], dtype=torch.float64))
        return beta * value

    def formula(self, symbol: str) -> str:
        """With the set points."""
        return f"beta(t)*{symbol}, beta by incremental PI control, set point {self.start:g}->{self.target:g} nats"
