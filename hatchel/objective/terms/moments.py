"""Penalties on moments and samples of the aggregate posterior: DIP-VAE's, RTC-VAE's, InfoVAE's."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Literal

import torch
from torch import Tensor

from hatchel.core.distributed import gather, mean
from hatchel.core.spec import Positive
from hatchel.core.streams import generator
from hatchel.latents.layout import NEEDS_REAL, Layout
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace


class Covariance(Term, ABC):
    """A penalty on C = Cov[mu] (DIP-VAE-I) or C = E[Cov[z|x]] + Cov[mu] (DIP-VAE-II), over the whole batch."""

    of: Literal["mean", "sample"] = "mean"
    """Cov of the posterior means (I), or of z by the law of total covariance (II)."""

    def accepts(self, layout: Layout) -> str:
        return "" if layout.continuous else f"a covariance {NEEDS_REAL}; or use total_correlation"

    def matrix(self, t: Trace) -> Tensor:
        """C, with the batch's 1/B moments: (D, D)."""
        mu = gather(t.q.mean)
        centred = mu - mu.mean(0)
        c = centred.T @ centred / mu.shape[0]
        if self.of == "sample":
            # The diagonal holds D means of variances: the B x D variances would add a scalar everywhere.
            c = c + t.q.gathered().mean_covariance()
        return c


class CovarianceOffDiagonal(Covariance):
    """sum_{i != j} C_ij^2."""

    def symbol(self) -> str:
        return f"sum_(i!=j) Cov[{'mu' if self.of == 'mean' else 'z'}]_ij^2"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        c = self.matrix(t)
        return c.square().sum() - c.diagonal().square().sum()


class CovarianceDiagonal(Covariance):
    """sum_i (C_ii - 1)^2."""

    def symbol(self) -> str:
        return f"sum_i (Cov[{'mu' if self.of == 'mean' else 'z'}]_ii - 1)^2"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        return (self.matrix(t).diagonal() - 1).square().sum()


class PosteriorVariance(Term):
    """sum_k E[sigma_k^2]: RTC-VAE's second penalty, which keeps TC(mu) near TC(z) (Cheng et al. 2020, Eq. 4)."""

    def symbol(self) -> str:
        return "sum_k E[sigma_k^2]"

    def accepts(self, layout: Layout) -> str:
        return "" if layout.continuous else f"posterior variance {NEEDS_REAL}"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        return mean(t.q.variance.sum(1))


class Disintegration(Term):
    """sum_j (sum_i pi_ij - max_i pi_ij), pi_ij the squared correlation of mu_i with factor j (RTC-VAE 2020, Sec. 6.3).

    The paper asks for a penalty on the number of coordinates tied to a factor and leaves its form open; this one is 0
    where every factor has one coordinate at most, and does not care which. It needs some items whose factors are known:
    set `labels` in the run. Factors count as numbers, so it says little about unordered ones.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"labelled"})

    def symbol(self) -> str:
        return "sum_j (sum_i pi(mu_i,l_j) - max_i pi(mu_i,l_j))"

    def accepts(self, layout: Layout) -> str:
        return "" if layout.continuous else f"a correlation {NEEDS_REAL}"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        mu, factors = gather(t.labelled[0]), gather(t.labelled[1]).to(t.z)
        mu, factors = mu - mu.mean(0), factors - factors.mean(0)
        power = mu.square().sum(0)[:, None] * factors.square().sum(0)[None, :]
        # A factor that happens to be constant in the batch is tied to nothing.
        links = (mu.T @ factors).square() / power.clamp_min(1e-12)  # (D, K)
        return (links.sum(0) - links.amax(0)).sum()


class MMD(Term, kind="mmd"):
    """MMD^2 = E k(z,z') + E k(p,p') - 2 E k(z,p), unbiased: the pairs of a draw with itself are left out.

    (Zhao et al. 2019, section 3.2; kernels as in Tolstikhin et al. 2018, section 4.)
    """

    kernel: Literal["imq", "rbf"] = "imq"
    """Inverse multiquadratics sum_s s C / (s C + d^2), s in {.1, .2, .5, 1, 2, 5, 10}, or a Gaussian exp(-d^2 / C)."""
    scale: Positive = 2.0
    """C = scale * D: 2 D is the expected squared distance of two draws from the prior."""

    def symbol(self) -> str:
        return f"MMD(q(z),p(z))[{self.kernel}]"

    def accepts(self, layout: Layout) -> str:
        return "" if layout.continuous else f"MMD {NEEDS_REAL}; or use aggregate_kl"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        z = gather(t.z)
        n = z.shape[0]
        prior = t.p.sample(n, generator(t.batch.seed, "mmd", t.batch.step)).to(z)
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
