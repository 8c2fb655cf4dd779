"""AggregateKL: how far the aggregate posterior is from the prior."""

from __future__ import annotations

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.terms.term import Term
from hatchel.trace import Partition, Posterior, Trace


class AggregateKL(Term, kind="aggregate_kl"):
    """KL(q(z) || p(z)) = TC(z) + sum_d KL(q(z_d) || p(z_d)) (Zhao et al. 2019, Eq. 6 with D = KL)."""

    by: Density = MSS()
    """How log q(z) is estimated."""

    def symbol(self) -> str:
        """With the estimator named."""
        return f"KL(q(z)||p(z))[{self.by.kind}]"

    def blocks(self, q: Posterior) -> Partition:
        """The joint."""
        return (q.whole,)

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """At the draw."""
        return estimates.log_q(self.by, t.q.whole) - t.q.prior_log_prob(t.z, t.q.whole)
