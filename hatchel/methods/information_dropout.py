"""The Information Dropout form: mutual information and total correlation."""

from __future__ import annotations

from hatchel.core.spec import NonNegative
from hatchel.methods.method import Method, Terms
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import MSS
from hatchel.objective.terms.decomposition import MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import Reconstruction


class InformationDropout(Method):
    """rec + beta I(x;z) + gamma TC (Esmaeili et al. 2019, Table 1)."""

    paper = "Achille & Soatto 2018"
    verified = "equals beta-TCVAE without the dimension-wise KL"

    beta: NonNegative = 1.0
    """Weight of the mutual information."""
    gamma: NonNegative = 6.0
    """Weight of the total correlation."""
    by: Density = MSS()
    """How log q(z) is estimated."""

    def terms(self) -> Terms:
        """Esmaeili et al. 2019, Table 1."""
        return {
            "rec": Reconstruction(),
            "mi": self.beta * MutualInformation(self.by),
            "tc": self.gamma * TotalCorrelation(self.by),
        }
