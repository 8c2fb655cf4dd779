"""The Information Dropout form: mutual information and total correlation."""

from __future__ import annotations

from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.presets.preset import Preset, Terms
from hatchel.spec import NonNegative
from hatchel.terms.mutual_information import MutualInformation
from hatchel.terms.reconstruction import Reconstruction
from hatchel.terms.total_correlation import TotalCorrelation


class InformationDropout(Preset):
    """rec + beta I(x;z) + gamma TC (paper 003, Table 1)."""

    paper = "Achille & Soatto 2018"
    verified = "equals beta-TCVAE without the dimension-wise KL"

    beta: NonNegative = 1.0
    """Weight of the mutual information."""
    gamma: NonNegative = 6.0
    """Weight of the total correlation."""
    by: Density = MSS()
    """How log q(z) is estimated."""

    def terms(self) -> Terms:
        """Paper 003, Table 1."""
        return {
            "rec": Reconstruction(),
            "mi": self.beta * MutualInformation(self.by),
            "tc": self.gamma * TotalCorrelation(self.by),
        }
