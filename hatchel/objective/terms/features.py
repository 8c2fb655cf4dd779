"""Mutual information between features of the encoder's layers: RecurD's terms."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Literal

import torch
from torch import Tensor

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.latents.layout import Layout, Partition
from hatchel.objective.estimators.estimator import CODE, Density, Estimator, Pairs
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace


class PairwiseInformation(Term):
    """sum_l sum_{i != j} I(m_i^l; m_j^l), or with `over` between, I(m_i^l; m_j^{l+1}) (Chen et al. 2022, Eq. 4).

    The layers are the named features and, last, the drawn code z. Within a layer I(m_i; m_j) = I(m_j; m_i) is estimated
    once and counted twice. Without features this is sum_{i != j} I(z_i; z_j), the paper's Definition 3, which a
    density can estimate too.
    """

    by: Estimator = MINE()
    """mine; for the code alone also a density."""
    modules: tuple[str, ...] = ()
    """The encoder's features that take part, first to last, each (B, members, ...); z is added by itself."""
    over: Literal["within", "between"] = "within"
    """Pairs inside each layer, or of each layer with the next."""
    nets: Literal["shared", "specific"] = "shared"
    """One network for each pair of layers, which is told the pair, or one for each pair of members."""
    inputs: Literal["pooled", "flat"] = "pooled"
    """Features averaged over space (cheaper, and by the data-processing inequality a lower bound), or all of them."""
    together: Count = 1
    """Sites of z that one encoder gave and that are one member."""

    def check(self) -> None:
        """There must be a next layer, and a density knows the code only."""
        if self.over == "between" and not self.modules:
            raise HatchelError("modules: pairs between layers need at least one feature of the encoder, e.g. m2")
        if self.modules and isinstance(self.by, Density):
            raise HatchelError(f"by: {self.by.kind} knows no density of an encoder's features; use mine")

    def symbol(self) -> str:
        """With the layers and the estimator named."""
        pair = "I(m_i^l;m_j^l)" if self.over == "within" else "I(m_i^l;m_j^(l+1))"
        pair = pair if self.modules else "I(z_i;z_j)"
        return f"{'sum_l ' if self.modules else ''}sum_(i!=j) {pair}[{self.by.kind}]"

    def pairs(self) -> tuple[Pairs, ...]:
        """Layer by layer."""
        layers = (*self.modules, CODE)
        chosen = zip(layers, layers, strict=True) if self.over == "within" else pairwise(layers)
        shared, pooled = self.nets == "shared", self.inputs == "pooled"
        return tuple(Pairs(left, right, shared, pooled, self.together) for left, right in chosen)

    def blocks(self, layout: Layout) -> Partition:
        """For a density: every member of the code and every two of them."""
        members = self._code(layout)
        return (*members, *(a + b for a, b in combinations(members, 2)))

    def accepts(self, layout: Layout) -> str:
        """There must be two of them."""
        return "" if len(self._code(layout)) > 1 else "the latent has one member only: there are no pairs"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        """In sum over pairs: of the batch by mine, per row by a density."""
        if isinstance(self.by, Density):
            two = list(combinations(self._code(t.q.layout), 2))
            return 2 * torch.stack([evaluator.log_ratio(self.by, pair) for pair in two]).sum(0)
        total = torch.stack([evaluator.log_ratio(self.by, pairs) for pairs in self.pairs()]).sum()
        return 2 * total if self.over == "within" else total

    def _code(self, layout: Layout) -> Partition:
        return tuple(layout.whole[k : k + self.together] for k in range(0, len(layout.whole), self.together))
