"""DimensionKL: how far each coordinate's aggregate posterior is from its prior."""

from __future__ import annotations

import torch
from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.terms.term import Term
from hatchel.trace import Partition, Posterior, Trace


class DimensionKL(Term, kind="dimension_kl"):
    """sum_d KL(q(z_d) || p(z_d)) (Chen et al. 2018, Eq. 2)."""

    by: Density = MSS()
    """How log q(z_d) is estimated."""

    def symbol(self) -> str:
        """With the estimator named."""
        return f"sum_d KL(q(z_d)||p(z_d))[{self.by.kind}]"

    def blocks(self, q: Posterior) -> Partition:
        """Every site."""
        return q.sites

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """At the draw."""
        parts = [estimates.log_q(self.by, s) - t.q.prior_log_prob(t.z, s) for s in t.q.sites]
        return torch.stack(parts).sum(0)
