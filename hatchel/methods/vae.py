"""VAE and beta-VAE: the KL as a whole."""

from __future__ import annotations

from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Strength


class VAE(Method, kind="vae"):
    """rec + KL."""

    paper = "Kingma & Welling 2014"
    verified = "KL closed form; KL = MI + TC + dimension-wise KL"

    def terms(self) -> Terms:
        """Eq. 3 of the paper."""
        return {"rec": Reconstruction(), "kl": KL()}


class BetaVAE(Method):
    """rec + beta KL."""

    paper = "Higgins et al. 2017"
    verified = "equals VAE at beta = 1"

    beta: Strength = 4.0
    """Weight of the KL: 4, 16, 60 in Chen et al. 2022, 6 in Wu et al. 2023."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        return {"rec": Reconstruction(), "kl": self.beta * KL()}
