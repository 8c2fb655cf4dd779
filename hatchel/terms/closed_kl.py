"""ClosedKL: the KL of the coordinates that a cascade has not opened yet."""

from __future__ import annotations

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.spec import Count
from hatchel.terms.term import Term
from hatchel.trace import Posterior, Trace


class ClosedKL(Term, kind="closed_kl"):
    """sum_{d >= j(t)} KL(q(z_d|x) || p(z_d)), j(t) = first + floor(t / every) (Jeong & Song 2019, Eq. 4).

    low KL + (high - low) ClosedKL = low sum_{d < j} KL_d + high sum_{d >= j} KL_d: information cascades into one
    coordinate after the other. Discrete sites are never closed.
    """

    every: Count = 20_000
    """Steps of a stage: after each, one more coordinate opens."""
    first: Annotated[int, Ge(0)] = 1
    """Coordinates that are open from the start."""

    def opened(self, step: int) -> int:
        """j(t).

        >>> [ClosedKL(every=10, first=1).opened(step) for step in (0, 9, 10, 35)]
        [1, 1, 2, 4]
        """
        return self.first + step // self.every

    def symbol(self) -> str:
        """As the paper's index runs."""
        return f"sum_(d>=j(t)) KL(q(z_d|x)||p(z_d)), j: {self.first} + 1 every {self.every} steps"

    def accepts(self, q: Posterior) -> str:
        """The KL must be known coordinate by coordinate."""
        if q.kl() is None:
            return (
                "its KL has no closed form by coordinate (discrete sites need discrete_kl=categorical, and the prior "
                "must not be learned); set latent=diagonal"
            )
        return ""

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Closed coordinates alone."""
        by_site = t.q.kl()
        assert by_site is not None
        place = torch.arange(t.z.shape[1])[None]
        real = [s for s in t.q.whole if t.q.columns(place, (s,)).shape[1] == 1]
        return by_site[:, real[self.opened(t.step) :]].sum(1)
