"""Weight: how a term's value enters the loss. A number is a constant weight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor

from hatchel.spec import Spec
from hatchel.trace import Posterior


class Weight(Spec, ABC, family="weight", home="hatchel.weights"):
    """A schedule or controller. State, where there is any, is a small tensor kept in the checkpoint."""

    @classmethod
    def shorthand(cls, value: Any) -> Any:
        """A number is a constant, a list has a weight for each level of a hierarchy."""
        from hatchel.weights.constant import Constant
        from hatchel.weights.per_level import PerLevel

        if isinstance(value, list | tuple):
            return PerLevel(tuple(cast(tuple[float, ...], value)))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return super().shorthand(value)
        return Constant(value)

    @abstractmethod
    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """The contribution to the loss of a term's batch mean; may update `state` in place."""

    @abstractmethod
    def formula(self, symbol: str) -> str:
        """The weighted term as it is written in a formula."""

    def initial_state(self) -> Tensor:
        """What a controller remembers between steps."""
        return torch.zeros(0, dtype=torch.float64)

    def at_level(self, level: int) -> Weight:
        """The weight at a level of a hierarchical latent: by default the same at all."""
        return self

    def rests(self, level: int) -> bool:
        """Whether the term has no part in the loss at a level; a critic that only such terms read then rests too."""
        return False

    def accepts(self, q: Posterior) -> str:
        """Why this latent cannot carry the weight; empty where it can."""
        return ""


def climb(start: float, end: float, step: int, steps: int) -> float:
    """Linear from `start` at step 0 to `end` after `steps`, constant before and after.

    >>> [climb(1, 3, step, 100) for step in (-5, 0, 50, 200)]
    [1.0, 1.0, 2.0, 3.0]
    """
    return start + (end - start) * min(1.0, max(0.0, step / steps))
