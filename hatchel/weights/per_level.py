"""PerLevel: a weight for each level of a hierarchy of latent spaces."""

from __future__ import annotations

from torch import Tensor

from hatchel.trace import Posterior
from hatchel.weights.constant import Constant
from hatchel.weights.weight import Weight


class PerLevel(Weight):
    """beta_i * value at level i of a hierarchy of latent spaces (paper 001, Eq. 2); 0 leaves a level alone."""

    weights: tuple[float, ...] = (1.0, 10.0, 40.0)
    """beta_0, beta_1, ..."""

    def at_level(self, level: int) -> Weight:
        """A constant."""
        return Constant(self.weights[level])

    def rests(self, level: int) -> bool:
        """Where the weight is 0: (10, 0, 0) is a term on the first level alone."""
        return self.weights[level] == 0

    def accepts(self, q: Posterior) -> str:
        """One weight a level."""
        if len(self.weights) == q.levels:
            return ""
        levels = f"{q.levels} level{'s' if q.levels > 1 else ''}"
        remedy = "" if q.levels > 1 else f", or set latent=scaled_hierarchy latent.levels={len(self.weights)}"
        return f"there are {len(self.weights)} weights for {levels}; give one for each, or a single number{remedy}"

    def apply(self, value: Tensor, step: int, state: Tensor) -> Tensor:
        """As at level 0; the objective asks for the level of its trace first."""
        return self.at_level(0).apply(value, step, state)

    def formula(self, symbol: str) -> str:
        """With every level's weight."""
        return f"beta_i*{symbol}, beta: {', '.join(f'{w:g}' for w in self.weights)} by level"
