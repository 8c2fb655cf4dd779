"""FactorVAE: total correlation by a discriminator."""

from __future__ import annotations

from hatchel.methods.method import Method, Terms
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Estimator
from hatchel.objective.terms.decomposition import TotalCorrelation
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Strength


class FactorVAE(Method):
    """rec + KL + gamma TC, TC by a discriminator.

    The product's samples are this batch's, permuted; the paper permutes another batch: by.product=independent. The
    discriminator learns at the model's rate, so that it sees in short trainings too; the paper has one rate for both.
    """

    paper = "Kim & Mnih 2018"
    verified = "TC of Gaussians; no gradient between discriminator and encoder; as many updates as the others"

    gamma: Strength = 10.0
    """Weight of the total correlation: 6.4 in Chen et al. 2022, 2 to 50 in Cheng et al. 2020, 10 to 40 usual."""
    by: Estimator = DensityRatio()
    """How the total correlation is estimated."""

    def terms(self) -> Terms:
        """Eq. 2 of the paper."""
        return {"rec": Reconstruction(), "kl": KL(), "tc": self.gamma * TotalCorrelation(self.by)}
