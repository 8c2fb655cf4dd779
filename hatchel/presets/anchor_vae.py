"""Anchor VAE: some coordinates rewarded for what they say."""

from __future__ import annotations

from hatchel.estimators.estimator import Density
from hatchel.estimators.minibatch import MSS
from hatchel.presets.preset import Preset, Terms
from hatchel.spec import NonNegative
from hatchel.terms.kl import KL
from hatchel.terms.mutual_information import MutualInformation
from hatchel.terms.reconstruction import Reconstruction


class AnchorVAE(Preset):
    """rec + KL - lambda I(x;z_a) for some anchor coordinates (paper 003, Table 1)."""

    paper = "Gao et al. 2019 (Anchor/CorEx)"
    verified = "equals VAE at weight 0; the anchors' information alone is rewarded"

    weight: NonNegative = 1.0
    """lambda."""
    anchors: tuple[int, ...] = (0, 1)
    """The coordinates that should say much about the data."""
    by: Density = MSS()
    """How log q(z_a) is estimated."""

    def terms(self) -> Terms:
        """Paper 003, Table 1."""
        return {
            "rec": Reconstruction(),
            "kl": KL(),
            "anchor": -self.weight * MutualInformation(self.by, self.anchors),
        }
