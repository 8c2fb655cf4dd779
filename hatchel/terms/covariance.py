"""DIP-VAE's penalties on the covariance of the code (Kumar et al. 2018, Eqs. 5-7)."""

from __future__ import annotations

from abc import ABC
from typing import Literal

from torch import Tensor

from hatchel.distributed import gather, mean
from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import NEEDS_REAL, Posterior, Trace


class Covariance(Term, ABC):
    """A penalty on C = Cov[mu] (DIP-VAE-I) or C = E[Cov[z|x]] + Cov[mu] (DIP-VAE-II), over the whole batch."""

    of: Literal["mean", "sample"] = "mean"
    """Cov of the posterior means (I), or of z by the law of total covariance (II)."""

    def accepts(self, q: Posterior) -> str:
        """Covariances need coordinates."""
        return "" if q.continuous else f"a covariance {NEEDS_REAL}; or use total_correlation"

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
        """As in the paper."""
        return f"sum_(i!=j) Cov[{'mu' if self.of == 'mean' else 'z'}]_ij^2"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Without the diagonal."""
        c = self.matrix(t)
        return c.square().sum() - c.diagonal().square().sum()


class CovarianceDiagonal(Covariance):
    """sum_i (C_ii - 1)^2."""

    def symbol(self) -> str:
        """As in the paper."""
        return f"sum_i (Cov[{'mu' if self.of == 'mean' else 'z'}]_ii - 1)^2"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """The diagonal alone."""
        return (self.matrix(t).diagonal() - 1).square().sum()


class PosteriorVariance(Term):
    """sum_k E[sigma_k^2]: RTC-VAE's second penalty, which keeps TC(mu) near TC(z) (paper 004, Eq. 4)."""

    def symbol(self) -> str:
        """As in the paper."""
        return "sum_k E[sigma_k^2]"

    def accepts(self, q: Posterior) -> str:
        """A variance needs coordinates."""
        return "" if q.continuous else f"posterior variance {NEEDS_REAL}"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Per row."""
        return mean(t.q.variance.sum(1))
