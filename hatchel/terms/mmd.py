"""MMD: the kernel distance between the aggregate posterior and the prior, InfoVAE's usual choice."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from hatchel.distributed import gather
from hatchel.estimates import Estimates
from hatchel.spec import Positive
from hatchel.streams import generator
from hatchel.terms.term import Term
from hatchel.trace import NEEDS_REAL, Posterior, Trace


class MMD(Term, kind="mmd"):
    """MMD^2 = E k(z,z') + E k(p,p') - 2 E k(z,p), unbiased: the pairs of a draw with itself are left out.

    (Zhao et al. 2019, section 3.2; kernels as in Tolstikhin et al. 2018, section 4.)
    """

    kernel: Literal["imq", "rbf"] = "imq"
    """Inverse multiquadratics sum_s s C / (s C + d^2), s in {.1, .2, .5, 1, 2, 5, 10}, or a Gaussian exp(-d^2 / C)."""
    scale: Positive = 2.0
    """C = scale * D: 2 D is the expected squared distance of two draws from the prior."""

    def symbol(self) -> str:
        """With the kernel named."""
        return f"MMD(q(z),p(z))[{self.kernel}]"

    def accepts(self, q: Posterior) -> str:
        """Distances need coordinates, and the prior's draws are N(0, I)."""
        if not q.factorised_prior:
            return "MMD draws from N(0, I) and this latent learns its prior; set latent=diagonal, or use aggregate_kl"
        return "" if q.continuous else f"MMD {NEEDS_REAL}; or use aggregate_kl"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Over the batch of all ranks and as many draws from the prior."""
        z = gather(t.z)
        prior = torch.randn(z.shape, generator=generator(t.seed, "mmd", t.step)).to(z)
        n = z.shape[0]
        same = (self._kernel(z, z).sum() + self._kernel(prior, prior).sum() - 2 * n * self._at_zero()) / (n * (n - 1))
        return same - 2 * self._kernel(z, prior).mean()

    _SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

    def _at_zero(self) -> float:
        return float(len(self._SCALES)) if self.kernel == "imq" else 1.0

    def _kernel(self, a: Tensor, b: Tensor) -> Tensor:
        # |a|^2 + |b|^2 - 2ab keeps memory at B x B; cdist's square root has no gradient at 0.
        squared = (a.square().sum(1)[:, None] + b.square().sum(1)[None, :] - 2 * a @ b.T).clamp_min(0)
        constant = self.scale * a.shape[1]
        if self.kernel == "rbf":
            return (-squared / constant).exp()
        return torch.stack([s * constant / (s * constant + squared) for s in self._SCALES]).sum(0)
