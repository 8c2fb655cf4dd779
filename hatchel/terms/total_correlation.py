"""TotalCorrelation: how far the aggregate posterior is from a product."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.estimators.density_ratio import DensityRatio
from hatchel.estimators.estimator import Estimator
from hatchel.spec import Count
from hatchel.terms.term import Term
from hatchel.trace import LAYERED, Partition, Posterior, Trace


class TotalCorrelation(Term):
    """KL(q(z) || prod_d q(z_d)) over sites (Chen et al. 2018, Eq. 2), groups, or inside groups (paper 003, Fig. 4).

    A prior that does not factorise in the same way has its own log-ratio subtracted (paper 003, term A of Fig. 4).
    """

    by: Estimator = DensityRatio()
    """How the ratio is estimated."""
    over: Literal["sites", "groups", "nested", "within"] = "sites"
    """The product runs over all sites; over the groups; over the parts of each block one level up, `depth` levels down
    (summed over those blocks); or over the sites of each of the finest groups."""
    depth: Count = 2
    """Of `nested`: 1 is `groups`, 2 the parts of the groups."""

    def symbol(self) -> str:
        """With the partition and the estimator named."""
        names = {"sites": "TC(z)", "groups": "TC(groups)", "within": "sum_g TC(z_g)"}
        name = names.get(self.over, f"TC(parts, depth {self.depth})")
        return f"{name}[{self.by.kind}]"

    def partitions(self, q: Posterior) -> tuple[Partition, ...]:
        """One partition for each ratio that is summed."""
        if self.over == "within":
            return tuple(tuple((s,) for s in group) for group in q.nesting[-1] if len(group) > 1)
        if self.over == "nested" and self.depth > 1:
            parts, wholes = q.nesting[self.depth - 1], q.nesting[self.depth - 2]
            inside = [tuple(p for p in parts if set(p) <= set(whole)) for whole in wholes]
            return tuple(partition for partition in inside if len(partition) > 1)
        return (q.sites if self.over == "sites" else q.groups,)

    def blocks(self, q: Posterior) -> Partition:
        """Every part and every union."""
        parts = self.partitions(q)
        return tuple(b for p in parts for b in (tuple(s for block in p for s in block), *p))

    def accepts(self, q: Posterior) -> str:
        """There must be something to separate."""
        if self.over == "nested" and self.depth > len(q.nesting):
            return f"its groups are nested {len(q.nesting)} deep, not {self.depth}; use over='within' for the sites"
        if self.over == "groups" and len(q.groups) < 2:
            return "the latent has one group only; use over=sites, or latent=mixed with several groups"
        if self.over == "sites" and len(q.sites) < 2:
            return "the latent has one site only: nothing can be correlated; leave the term out"
        if not all(q.knows(block) for block in self.blocks(q)):
            return f"it asks for the prior of single parts, and {LAYERED}"
        return ""

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """The sum of the ratios, less the prior's own."""
        total = t.z.new_zeros(())
        for partition in self.partitions(t.q):
            total = total + estimates.log_ratio(self.by, partition)
            if not t.q.factorised_prior:
                union = tuple(s for block in partition for s in block)
                own = t.q.prior_log_prob(t.z, union) - sum(t.q.prior_log_prob(t.z, b) for b in partition)
                total = total - own
        return total
