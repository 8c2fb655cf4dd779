"""Weights: how a term's value enters the loss; constants, schedules and controllers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal, cast

import torch
from annotated_types import Ge
from torch import Tensor

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, NonNegative, Positive, Share, Spec, added, in_steps, per_step
from hatchel.core.streams import scheduled
from hatchel.latents.layout import Layout


class Weight(Spec, ABC, family="weight", home="hatchel.objective.weights"):
    """A schedule or controller. State, where there is any, is a small tensor kept in the checkpoint."""

    @classmethod
    def coerce(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return PerLevel(tuple(cast(tuple[float, ...], value)))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return super().coerce(value)
        return Constant(value)

    @abstractmethod
    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """The contribution to the loss of a term's batch mean; may update `state` in place.

        What changes with the step is asked for by `scheduled`: a compiled step is else compiled again and again.
        """

    @abstractmethod
    def formula(self, symbol: str) -> str:
        """The weighted term as it is written in a formula."""

    def initial_state(self) -> Tensor:
        """What a controller remembers between steps."""
        return torch.zeros(0, dtype=torch.float64)

    def at_level(self, level: int) -> Weight:
        """The weight at a level of a hierarchical latent: by default the same at all."""
        return self

    def inactive(self, level: int) -> bool:
        """Whether the term has no part in the loss at a level; a critic that only such terms read then rests too."""
        return False

    def accepts(self, layout: Layout) -> str:
        """Why this latent cannot carry the weight; empty where it can."""
        return ""


Strength = NonNegative | Weight
"""A method's parameter that is a weight: a number, or a schedule by name (`gamma=ramp gamma.end=10`)."""


def climb(start: float, end: float, step: int, steps: int) -> float:
    """Linear from `start` at step 0 to `end` after `steps`, constant before and after.

    >>> [climb(1, 3, step, 100) for step in (-5, 0, 50, 200)]
    [1.0, 1.0, 2.0, 3.0]
    """
    return start + (end - start) * min(1.0, max(0.0, step / steps))


class Constant(Weight):
    """w * value."""

    value: float = 1.0
    """w; negative to reward a term."""

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        return self.value * value

    def formula(self, symbol: str) -> str:
        return symbol if self.value == 1 else f"{self.value:g}*{symbol}"


class Ramp(Weight):
    """w(t) from `start` to `end` over `steps` after `delay`: KL annealing."""

    start: float = 0.0
    """w before the ramp."""
    end: float = 1.0
    """w after it."""
    steps: Count = in_steps(default=10_000)
    """Length of the ramp."""
    delay: Annotated[int, Ge(0)] = in_steps(default=0)
    """Steps before it begins."""
    curve: Literal["linear", "geometric"] = added(default="linear")
    """By equal differences, or by equal factors, which leaves more of the time to small weights."""

    def check(self) -> None:
        if self.curve == "geometric" and min(self.start, self.end) <= 0:
            raise HatchelError(
                f"curve: geometric goes by factors, from and to weights above 0; got {self.start:g} to {self.end:g}. "
                "Set curve=linear"
            )

    def at(self, step: int) -> float:
        """w(t)."""
        if self.curve == "geometric":
            return self.start * (self.end / self.start) ** climb(0, 1, step - self.delay, self.steps)
        return climb(self.start, self.end, step - self.delay, self.steps)

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        return scheduled(self.at, step, value) * value

    def formula(self, symbol: str) -> str:
        by = " by factors" if self.curve == "geometric" else ""
        return f"({self.start:g}->{self.end:g}{by} in {self.steps} steps)*{symbol}"


class Cyclic(Weight):
    """A ramp from `low` to `high` over the first `rise` of every `period`, then flat (Fu et al. 2019)."""

    low: float = 0.0
    """w at the start of a period."""
    high: float = 1.0
    """w on the plateau."""
    period: Count = in_steps(default=10_000)
    """Steps of one cycle."""
    rise: Share = 0.5
    """The share of a period that rises."""

    def at(self, step: int) -> float:
        """w(t)."""
        phase = (step % self.period) / self.period
        return self.high if phase >= self.rise else self.low + (self.high - self.low) * phase / self.rise

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        return scheduled(self.at, step, value) * value

    def formula(self, symbol: str) -> str:
        return f"({self.low:g}->{self.high:g} every {self.period} steps)*{symbol}"


class Capacity(Weight):
    """gamma * |value - C(t)|, C linear from `start` to `end` nats over `steps` (Burgess et al. 2018, Eq. 8)."""

    gamma: NonNegative = 1000.0
    """How hard the value is held at C."""
    start: NonNegative = 0.5
    """C at step 0."""
    end: NonNegative = 25.0
    """C at the end."""
    steps: Count = in_steps(default=100_000)
    """Length of the climb."""

    def at(self, step: int) -> float:
        """C(t)."""
        return climb(self.start, self.end, step, self.steps)

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        return self.gamma * (value - scheduled(self.at, step, value)).abs()

    def formula(self, symbol: str) -> str:
        return f"{self.gamma:g}*|{symbol} - C(t)|, C: {self.start:g}->{self.end:g} nats in {self.steps} steps"


class PI(Weight, kind="pi"):
    """beta(t) = Kp / (1 + exp e) - Ki sum e + low, e = C(t) - value: ControlVAE (Shao et al. 2020, Eqs. 7-8).

    The sum does not grow while beta is at a bound (anti-windup, its Algorithm 1). C(t) climbs from `start` to `target`.
    """

    target: Positive = 20.0
    """The set point in nats."""
    start: NonNegative = 0.5
    """C at step 0."""
    steps: Count = in_steps(default=100_000)
    """Length of the climb to the target."""
    kp: NonNegative = 0.01
    """Of the non-linear proportional part."""
    ki: NonNegative = per_step(default=0.001)
    """Of the integral part."""
    low: NonNegative = 0.0
    """Smallest beta."""
    high: Positive = 100.0
    """Largest beta."""

    def check(self) -> None:
        if self.low >= self.high:
            raise HatchelError(f"low: must be below high, got {self.low:g} and {self.high:g}")

    def at(self, step: int) -> float:
        """C(t)."""
        return climb(self.start, self.target, step, self.steps)

    def initial_state(self) -> Tensor:
        return torch.zeros(2, dtype=torch.float64)  # the integral part, beta

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        error = scheduled(self.at, step) - value.detach().double()
        proportional, integral = self.kp * (-error).sigmoid(), state[0]
        grown = integral - self.ki * error
        free = proportional + grown + self.low
        moves = ((free > self.low) & (free < self.high)) | (grown.abs() < integral.abs())
        integral = torch.where(moves, grown, integral)
        beta = (proportional + integral + self.low).clamp(self.low, self.high)
        state.copy_(torch.stack([integral, beta]))
        return beta.to(value.dtype) * value

    def formula(self, symbol: str) -> str:
        return f"beta(t)*{symbol}, beta by PI control to {self.target:g} nats"


class IncrementalPI(Weight, kind="incremental_pi"):
    """beta(t) = beta(t-1) + Kp (s(e(t)) - s(e(t-1))) - Ki e(t), s(e) = 1 / (1 + exp e): DynamicVAE (Shao et al. 2022).

    e(t) = C(t) - the mean of the last `window` values. C stays at `start` for one `period`; from then on it grows by
    `increment` over the first `ramp` steps of each period, up to `target` (the paper's hybrid annealing). beta starts
    large and is cut to its bounds at every step, so that nothing winds up. The set points are the authors' own: from 0
    to 18 nats in the first 200,000 steps.
    """

    target: Positive = 18.0
    """The last set point in nats."""
    start: NonNegative = 0.0
    """The first set point."""
    increment: Positive = 0.45
    """How much the set point grows a period."""
    period: Count = in_steps(default=5000)
    """Steps between two increments."""
    ramp: Count = in_steps(default=1000)
    """Steps over which an increment is spread; 1 makes it a jump."""
    window: Count = 5
    """T, how many values the moving average has."""
    kp: NonNegative = 0.01
    """Of the non-linear proportional part."""
    ki: NonNegative = per_step(default=0.001)
    """Of the integral part."""
    initial: Positive = 150.0
    """beta before the first step: large, so that little information passes at first."""
    low: NonNegative = 1.0
    """Smallest beta."""
    high: Positive = 150.0
    """Largest beta."""

    def check(self) -> None:
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
        # beta, the last error, how many values are known, those values
        state = torch.zeros(3 + self.window, dtype=torch.float64)
        state[0] = self.initial
        return state

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        beta, before, count = state[:3].unbind()
        seen = torch.cat([value.detach().double()[None], state[3:-1]])  # 0 where there was no step yet
        known = (count + 1).clamp(max=self.window)
        error = scheduled(self.at, step) - seen.sum() / known
        change = self.kp * ((-error).sigmoid() - (-before).sigmoid()) - self.ki * error
        beta = (beta + change).clamp(self.low, self.high)
        state.copy_(torch.cat([torch.stack([beta, error, known]), seen]))
        return beta.to(value.dtype) * value

    def formula(self, symbol: str) -> str:
        return f"beta(t)*{symbol}, beta by incremental PI control, set point {self.start:g}->{self.target:g} nats"


class PerLevel(Weight):
    """beta_i * value at level i of a hierarchy of latent spaces (Wu et al. 2023, Eq. 2); 0 leaves a level alone."""

    weights: tuple[float, ...] = (1.0, 10.0, 40.0)
    """beta_0, beta_1, ..."""

    def at_level(self, level: int) -> Weight:
        return Constant(self.weights[level])

    def inactive(self, level: int) -> bool:
        return self.weights[level] == 0

    def accepts(self, layout: Layout) -> str:
        if len(self.weights) == layout.levels:
            return ""
        levels = f"{layout.levels} level{'s' if layout.levels > 1 else ''}"
        remedy = "" if layout.levels > 1 else f", or set latent=scaled_hierarchy latent.levels={len(self.weights)}"
        return f"there are {len(self.weights)} weights for {levels}; give one for each, or a single number{remedy}"

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        return self.at_level(0).apply(value, step, state)

    def formula(self, symbol: str) -> str:
        return f"beta_i*{symbol}, beta: {', '.join(f'{w:g}' for w in self.weights)} by level"
