"""Disintegration: a factor spread over several coordinates, penalised on a few labelled items."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from hatchel.distributed import gather
from hatchel.errors import HatchelError
from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import NEEDS_REAL, Posterior, Trace


class Disintegration(Term):
    """sum_j (sum_i pi_ij - max_i pi_ij), pi_ij the squared correlation of mu_i with factor j (paper 004, Sec. 6.3).

    The paper asks for a penalty on the number of coordinates tied to a factor and leaves its form open; this one is 0
    where every factor has one coordinate at most, and does not care which. It needs some items whose factors are known:
    set `labels` in the run. Factors count as numbers, so it says little about unordered ones.
    """

    wants_labels: ClassVar[bool] = True

    def symbol(self) -> str:
        """In the paper's letters."""
        return "sum_j (sum_i pi(mu_i,l_j) - max_i pi(mu_i,l_j))"

    def accepts(self, q: Posterior) -> str:
        """Correlations need coordinates."""
        return "" if q.continuous else f"a correlation {NEEDS_REAL}"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Over the labelled items of all ranks."""
        if t.labelled is None:
            raise HatchelError("the disintegration term needs labelled items: set labels=500 in the run")
        mu, factors = gather(t.labelled.mean), gather(t.labelled.factors).to(t.z)
        mu, factors = mu - mu.mean(0), factors - factors.mean(0)
        power = mu.square().sum(0)[:, None] * factors.square().sum(0)[None, :]
        # A factor that happens to be constant in the batch is tied to nothing.
        links = (mu.T @ factors).square() / power.clamp_min(1e-12)  # (D, K)
        return (links.sum(0) - links.amax(0)).sum()
