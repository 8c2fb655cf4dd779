"""KL: what a code costs."""

from __future__ import annotations

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import Trace


class KL(Term, kind="kl"):
    """KL(q(z|x) || p(z)) = I(x;z) + TC(z) + sum_d KL(q(z_d) || p(z_d)).

    In closed form where there is one, else the draw's own log q(z|x) - log p(z).
    """

    def symbol(self) -> str:
        """As in every VAE paper."""
        return "KL(q(z|x)||p(z))"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Summed over sites."""
        closed = t.q.kl()
        if closed is not None:
            return closed.sum(1)
        return t.q.log_prob(t.z, t.q.whole) - t.q.prior_log_prob(t.z, t.q.whole)
