"""beta-TCVAE: the KL taken apart, each part with its weight."""

from __future__ import annotations

from hatchel.methods.method import Method, Terms
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import MSS
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import Reconstruction
from hatchel.objective.weights import Strength


class BetaTCVAE(Method, kind="beta_tcvae"):
    """rec + alpha I(x;z) + beta TC + gamma sum_d KL(q(z_d)||p(z_d))."""

    paper = "Chen et al. 2018"
    verified = "closed forms; a reference implementation's terms; equals VAE at alpha = beta = gamma = 1"

    alpha: Strength = 1.0
    """Weight of the mutual information."""
    beta: Strength = 6.0
    """Weight of the total correlation: 4 in Chen et al. 2022, 12 in Wu et al. 2023."""
    gamma: Strength = 1.0
    """Weight of the dimension-wise KL."""
    by: Density = MSS()
    """mss, mws, mss0, stratified, gaussian or exact."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        return {
            "rec": Reconstruction(),
            "mi": self.alpha * MutualInformation(self.by),
            "tc": self.beta * TotalCorrelation(self.by),
            "dw": self.gamma * DimensionKL(self.by),
        }
