"""beta-TCVAE: the KL taken apart, each part with its weight."""

from __future__ import annotations

from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.presets.preset import Preset, Terms
from hatchel.spec import NonNegative
from hatchel.terms.dimension_kl import DimensionKL
from hatchel.terms.mutual_information import MutualInformation
from hatchel.terms.reconstruction import Reconstruction
from hatchel.terms.total_correlation import TotalCorrelation


class BetaTCVAE(Preset, kind="beta_tcvae"):
    """rec + alpha I(x;z) + beta TC + gamma sum_d KL(q(z_d)||p(z_d))."""

    paper = "Chen et al. 2018"
    verified = "closed forms; a reference implementation's terms; equals VAE at alpha = beta = gamma = 1"

    alpha: NonNegative = 1.0
    """Weight of the mutual information."""
    beta: NonNegative = 6.0
    """Weight of the total correlation: 4 in paper 000, 12 in 001."""
    gamma: NonNegative = 1.0
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
