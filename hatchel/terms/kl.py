"""KL: what a code costs."""

from __future__ import annotations

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import Posterior, Trace


class KL(Term, kind="kl"):
    """KL(q(z|x) || p(z)) = I(x;z) + TC(z) + sum_d KL(q(z_d) || p(z_d)).

    In closed form where there is one, else the draw's own log q(z|x) - log p(z).
    """

    groups: tuple[str, ...] | None = None
    """Only these groups of the latent, by name, as JointVAE wants; all by default."""

    def symbol(self) -> str:
        """As in every VAE paper."""
        z = "z" if self.groups is None else "z_" + ",".join(self.groups)
        return f"KL(q({z}|x)||p({z}))"

    def accepts(self, q: Posterior) -> str:
        """The groups must exist."""
        missing = [name for name in self.groups or () if name not in q.names]
        if not missing:
            return ""
        return (
            f"it has the groups {', '.join(q.names)}, not {missing[0]}; leave `groups` out for all of them, or set "
            "latent=mixed with groups of these names"
        )

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Summed over sites."""
        block = t.q.whole
        if self.groups is not None:
            block = tuple(s for name in self.groups for s in t.q.groups[t.q.names.index(name)])
        closed = t.q.kl_at(t.z)
        if closed is not None:
            return closed.sum(1) if self.groups is None else closed[:, list(block)].sum(1)
        return t.q.log_prob(t.z, block) - t.q.prior_log_prob(t.z, block)
