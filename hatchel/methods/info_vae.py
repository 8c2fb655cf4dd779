"""InfoVAE: the aggregate posterior drawn to the prior."""

from __future__ import annotations

from typing import Literal

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Positive
from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.decomposition import AggregateKL
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.terms.moments import MMD


class InfoVAE(Method):
    """rec + (1 - a) KL + (a + l - 1) D(q(z) || p(z)), D = MMD or KL."""

    paper = "Zhao et al. 2019"
    verified = "MMD unbiased: zero in the mean for codes from the prior, and its closed form for shifted Gaussians"

    a: float = 0.0
    """alpha of the paper; 1 drops the KL (MMD-VAE)."""
    l: Positive = 1000.0  # noqa: E741
    """lambda of the paper. a + l - 1 must not be negative: some code bases' defaults reward a distance."""
    divergence: Literal["mmd", "aggregate_kl"] = "mmd"
    """D."""
    kernel: Literal["imq", "rbf"] = "imq"
    """Of the MMD."""

    def check(self) -> None:
        if self.a > 1 or self.a + self.l < 1:
            raise HatchelError(
                f"a, l: the weights 1 - a = {1 - self.a:g} and a + l - 1 = {self.a + self.l - 1:g} must not be negative"
            )

    def terms(self) -> Terms:
        """Eq. 6 of the paper."""
        distance = MMD(self.kernel) if self.divergence == "mmd" else AggregateKL()
        return {"rec": Reconstruction(), "kl": (1 - self.a) * KL(), "d": (self.a + self.l - 1) * distance}
