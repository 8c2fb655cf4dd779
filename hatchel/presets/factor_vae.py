"""FactorVAE: total correlation by a discriminator."""

from __future__ import annotations

from hatchel.estimators.density_ratio import DensityRatio
from hatchel.estimators.estimator import Estimator
from hatchel.presets.preset import Preset, Terms
from hatchel.spec import NonNegative
from hatchel.terms.kl import KL
from hatchel.terms.reconstruction import Reconstruction
from hatchel.terms.total_correlation import TotalCorrelation


class FactorVAE(Preset):
    """rec + KL + gamma TC, TC by a discriminator."""

    paper = "Kim & Mnih 2018"
    verified = "TC of Gaussians; no gradient between discriminator and encoder; as many updates as the others"

    gamma: NonNegative = 10.0
    """Weight of the total correlation: 6.4 in paper 000, 2 to 50 in 004, 10 to 40 usual."""
    by: Estimator = DensityRatio()
    """How the total correlation is estimated."""

    def terms(self) -> Terms:
        """Eq. 2 of the paper."""
        return {"rec": Reconstruction(), "kl": KL(), "tc": self.gamma * TotalCorrelation(self.by)}
