"""The KL taken apart over a partition of latent sites: information, total correlation, dimension-wise KL."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from hatchel.core.spec import Count
from hatchel.latents.layout import LAYERED, Block, Layout, Partition
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Density, Estimator
from hatchel.objective.estimators.minibatch import MSS
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace


class MutualInformation(Term):
    """I(x;z) = E log q(z|x) - E log q(z) (Chen et al. 2018, Eq. 2: the index-code MI)."""

    by: Density = MSS()
    """How log q(z) is estimated."""
    sites: tuple[int, ...] | None = None
    """Only these coordinates, as Anchor VAE wants; all by default."""

    def symbol(self) -> str:
        subset = "" if self.sites is None else "_{" + ",".join(map(str, self.sites)) + "}"
        return f"I(x;z{subset})[{self.by.kind}]"

    def blocks(self, layout: Layout) -> Partition:
        return (self._block(layout),)

    def accepts(self, layout: Layout) -> str:
        missing = [s for s in self.sites or () if s not in layout.whole]
        if missing:
            return f"the latent has sites 0 to {len(layout.whole) - 1}, not {missing[0]}"
        if layout.given_class and not {*layout.discrete} <= {*self._block(layout)}:
            return (
                "coordinates that are drawn given the class have no density without it; add the class to `sites` "
                f"({', '.join(map(str, layout.discrete))}), or leave reads_class out"
            )
        return ""

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        block = self._block(t.q.layout)
        return t.q.log_prob(t.z, block) - evaluator.log_q(self.by, block)

    def _block(self, layout: Layout) -> Block:
        return layout.whole if self.sites is None else self.sites


class TotalCorrelation(Term):
    """KL(q(z) || prod_d q(z_d)) over sites (Chen et al. 2018, Eq. 2), groups, or inside groups (HFVAE 2019, Fig. 4).

    A prior that does not factorise in the same way has its own log-ratio subtracted (HFVAE 2019, term A of Fig. 4).
    """

    by: Estimator = DensityRatio()
    """How the ratio is estimated."""
    over: Literal["sites", "groups", "nested", "within"] = "sites"
    """The product runs over all sites; over the groups; over the parts of each block one level up, `depth` levels down
    (summed over those blocks); or over the sites of each of the finest groups."""
    depth: Count = 2
    """Of `nested`: 1 is `groups`, 2 the parts of the groups."""

    def symbol(self) -> str:
        names = {"sites": "TC(z)", "groups": "TC(groups)", "within": "sum_g TC(z_g)"}
        name = names.get(self.over, f"TC(parts, depth {self.depth})")
        return f"{name}[{self.by.kind}]"

    def partitions(self, layout: Layout) -> tuple[Partition, ...]:
        if self.over == "within":
            return tuple(tuple((s,) for s in group) for group in layout.nesting[-1] if len(group) > 1)
        if self.over == "nested" and self.depth > 1:
            parts, wholes = layout.nesting[self.depth - 1], layout.nesting[self.depth - 2]
            inside = [tuple(p for p in parts if set(p) <= set(whole)) for whole in wholes]
            return tuple(partition for partition in inside if len(partition) > 1)
        return (layout.singles if self.over == "sites" else layout.groups,)

    def blocks(self, layout: Layout) -> Partition:
        parts = self.partitions(layout)
        return tuple(b for p in parts for b in (tuple(s for block in p for s in block), *p))

    def accepts(self, layout: Layout) -> str:
        if self.over == "nested" and self.depth > len(layout.nesting):
            return (
                f"its groups are nested {len(layout.nesting)} deep, not {self.depth}; use over='within' for the sites"
            )
        if self.over == "groups" and len(layout.groups) < 2:
            return "the latent has one group only; take latent=mixed with several groups, or a term over=sites"
        if self.over == "sites" and len(layout.sites) < 2:
            return "the latent has one site only: nothing can be correlated; leave the term out"
        if not all(layout.has_marginal(block) for block in self.blocks(layout)):
            return f"it asks for the prior of single parts, and {LAYERED}"
        return ""

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        total = t.z.new_zeros(())
        for partition in self.partitions(t.q.layout):
            total = total + evaluator.log_ratio(self.by, partition)
            if not t.p.factorised:
                union = tuple(s for block in partition for s in block)
                own = t.p.log_prob(t.z, union) - sum(t.p.log_prob(t.z, b) for b in partition)
                total = total - own
        return total


class DimensionKL(Term, kind="dimension_kl"):
    """sum_d KL(q(z_d) || p(z_d)) (Chen et al. 2018, Eq. 2)."""

    by: Density = MSS()
    """How log q(z_d) is estimated."""

    def symbol(self) -> str:
        return f"sum_d KL(q(z_d)||p(z_d))[{self.by.kind}]"

    def blocks(self, layout: Layout) -> Partition:
        return layout.singles

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        layout = t.q.layout
        parts = (layout.whole,) if t.p.factorised else layout.singles
        log_p = [t.p.log_prob(t.z, part) for part in parts]
        return evaluator.log_product(self.by, layout.singles) - sum(log_p)


class AggregateKL(Term, kind="aggregate_kl"):
    """KL(q(z) || p(z)) = TC(z) + sum_d KL(q(z_d) || p(z_d)) (Zhao et al. 2019, Eq. 6 with D = KL)."""

    by: Density = MSS()
    """How log q(z) is estimated."""

    def symbol(self) -> str:
        return f"KL(q(z)||p(z))[{self.by.kind}]"

    def blocks(self, layout: Layout) -> Partition:
        return (layout.whole,)

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        whole = t.q.layout.whole
        return evaluator.log_q(self.by, whole) - t.p.log_prob(t.z, whole)
