"""MutualInformation: how much the code says about the data."""

from __future__ import annotations

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.terms.term import Term
from hatchel.trace import Block, Partition, Posterior, Trace


class MutualInformation(Term):
    """I(x;z) = E log q(z|x) - E log q(z) (Chen et al. 2018, Eq. 2: the index-code MI)."""

    by: Density = MSS()
    """How log q(z) is estimated."""
    sites: tuple[int, ...] | None = None
    """Only these coordinates, as Anchor VAE wants; all by default."""

    def symbol(self) -> str:
        """With the estimator named."""
        subset = "" if self.sites is None else "_{" + ",".join(map(str, self.sites)) + "}"
        return f"I(x;z{subset})[{self.by.kind}]"

    def blocks(self, q: Posterior) -> Partition:
        """The joint of the sites in question."""
        return (self._block(q),)

    def accepts(self, q: Posterior) -> str:
        """The sites must exist."""
        missing = [s for s in self.sites or () if s not in q.whole]
        return f"the latent has sites 0 to {len(q.whole) - 1}, not {missing[0]}" if missing else ""

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """At the draw."""
        block = self._block(t.q)
        return t.q.log_prob(t.z, block) - estimates.log_q(self.by, block)

    def _block(self, q: Posterior) -> Block:
        return q.whole if self.sites is None else self.sites
