"""DIP-VAE-I and -II: moments of the code held at those of the prior."""

from __future__ import annotations

from typing import Literal

from hatchel.core.spec import NonNegative
from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.terms.moments import CovarianceDiagonal, CovarianceOffDiagonal


class DIPVAEI(Method, kind="dip_vae_i"):
    """rec + KL + od sum_{i != j} Cov[mu]_ij^2 + d sum_i (Cov[mu]_ii - 1)^2."""

    paper = "Kumar et al. 2018"
    verified = "the covariance equals numpy's; a reference implementation's penalty"

    od: NonNegative = 10.0
    """lambda_od, off the diagonal: 100 in Chen et al. 2022."""
    d: NonNegative = 100.0
    """lambda_d, on the diagonal: 10 lambda_od in Cheng et al. 2020, 10 in Chen et al. 2022."""

    def terms(self) -> Terms:
        """Eq. 6 of the paper."""
        return _dip("mean", self.od, self.d)


class DIPVAEII(Method, kind="dip_vae_ii"):
    """As DIP-VAE-I with the covariance of z, E[diag sigma^2] + Cov[mu].

    With od = d this is 4 od KL(q(z)||p(z)) to second order, for a Gaussian q(z) near p (Esmaeili et al. 2019, Table 1).
    """

    paper = "Kumar et al. 2018"
    verified = "the covariance equals numpy's of many draws; a reference implementation's penalty"

    od: NonNegative = 10.0
    """lambda_od, off the diagonal."""
    d: NonNegative = 10.0
    """lambda_d, on the diagonal: equal to lambda_od in Cheng et al. 2020."""

    def terms(self) -> Terms:
        """Eq. 7 of the paper."""
        return _dip("sample", self.od, self.d)


def _dip(of: Literal["mean", "sample"], od: float, d: float) -> Terms:
    off, diagonal = od * CovarianceOffDiagonal(of), d * CovarianceDiagonal(of)
    return {"rec": Reconstruction(), "kl": KL(), "od": off, "d": diagonal}
