"""VAE and beta-VAE: the KL as a whole."""

from __future__ import annotations

from hatchel.presets.preset import Preset, Terms
from hatchel.spec import NonNegative
from hatchel.terms.kl import KL
from hatchel.terms.reconstruction import Reconstruction


class VAE(Preset, kind="vae"):
    """rec + KL."""

    paper = "Kingma & Welling 2014"
    verified = "KL closed form; KL = MI + TC + dimension-wise KL"

    def terms(self) -> Terms:
        """Eq. 3 of the paper."""
        return {"rec": Reconstruction(), "kl": KL()}


class BetaVAE(Preset):
    """rec + beta KL."""

    paper = "Higgins et al. 2017"
    verified = "equals VAE at beta = 1"

    beta: NonNegative = 4.0
    """Weight of the KL: 4, 16, 60 in paper 000, 6 in 001."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        return {"rec": Reconstruction(), "kl": self.beta * KL()}
