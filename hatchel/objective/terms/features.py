"""Mutual information between features of the encoder's layers: RecurD's terms."""

from __future__ import annotations

from itertools import combinations
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
    """sum_l sum_{i < j} I(m_i^l; m_j^l), or with `over` between, sum_l sum_{i != j} I(a_i^l; m_j^{l+1}).

    (Chen et al. 2022, Eq. 4.) The layers are the named features and, last, the drawn code z. Inside a layer the paper
    writes sum_{j != i}, where I(m_i; m_j) = I(m_j; m_i); its Eq. 14 has the same sum as the second order of the total
    correlation, which holds for unordered pairs, so each pair counts once here (for the sum over ordered pairs, double
    the weight). Between layers a_i^l is `routed`, what encoder i reads, where that is named, else m_i^l, what encoder i
    gives: the paper prints the second (and its appendix E.4 has a MINE for "each pair of outputs of encoders"), where
    "i != j" matches members of layers that differ in number. Without features this is sum_{i < j} I(z_i; z_j), the
    paper's Definition 3, which a density can estimate too.
    """

    by: Estimator = MINE()
    """mine; for the code alone also a density."""
    modules: tuple[str, ...] = ()
    """The encoder's features that take part, first to last, each (B, members, ...); z is added by itself."""
    over: Literal["within", "between"] = "within"
    """Pairs inside each layer, or of each layer with the next."""
    nets: Literal["shared", "specific"] = "shared"
    """One network for each pair of layers, which is told the pair, or one for each pair of members."""
    inputs: Literal["2x2", "4x4", "pooled", "flat"] = "2x2"
    """Maps averaged over the cells of a grid or over all of space (cheaper, and by the data-processing inequality a
    lower bound; information can hide from a mean over space by moving into position), or all of them."""
    together: Count = 1
    """Sites of z that one encoder gave and that are one member."""
    routed: tuple[str, ...] = ()
    """Between layers, for each module: the feature with what the encoders after it read."""
    standardised: bool = True
    """Bring every number that a network sees to mean 0 and variance 1 over the batch; the paper does not say."""

    def check(self) -> None:
        if self.over == "between" and not self.modules:
            raise HatchelError("modules: pairs between layers need at least one feature of the encoder, e.g. [m2]")
        if self.routed and (self.over == "within" or len(self.routed) != len(self.modules)):
            raise HatchelError("routed: name one feature for each of `modules`, for pairs between layers")
        if self.modules and isinstance(self.by, Density):
            raise HatchelError(f"by: {self.by.kind} knows no density of an encoder's features; use mine")

    def symbol(self) -> str:
        if self.over == "between":
            return f"sum_l sum_(i!=j) I({'r' if self.routed else 'm'}_i^l;m_j^(l+1))[{self.by.kind}]"
        pairs = "sum_l sum_(i<j) I(m_i^l;m_j^l)" if self.modules else "sum_(i<j) I(z_i;z_j)"
        return f"{pairs}[{self.by.kind}]"

    def pairs(self) -> tuple[Pairs, ...]:
        layers = (*self.modules, CODE)
        left, right = (layers, layers) if self.over == "within" else (self.routed or self.modules, layers[1:])
        grid = {"2x2": 2, "4x4": 4, "pooled": 1, "flat": None}[self.inputs]
        return tuple(
            Pairs(a, b, self.nets == "shared", grid, self.standardised, self.together)
            for a, b in zip(left, right, strict=True)
        )

    def blocks(self, layout: Layout) -> Partition:
        members = self._code(layout)
        return (*members, *(a + b for a, b in combinations(members, 2)))

    def accepts(self, layout: Layout) -> str:
        return "" if len(self._code(layout)) > 1 else "the latent has one member only: there are no pairs"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        if isinstance(self.by, Density):
            two = list(combinations(self._code(t.q.layout), 2))
            return torch.stack([evaluator.log_ratio(self.by, pair) for pair in two]).sum(0)
        return torch.stack([evaluator.log_ratio(self.by, pairs) for pairs in self.pairs()]).sum()

    def _code(self, layout: Layout) -> Partition:
        return tuple(layout.whole[k : k + self.together] for k in range(0, len(layout.whole), self.together))
