"""Comb: a bottleneck that opens while a discriminator keeps latents independent, read by an encoder of branches."""

from __future__ import annotations

from hatchel.methods.method import Method, Parts, Terms
from hatchel.nets.split import Split
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Estimator
from hatchel.objective.terms.decomposition import TotalCorrelation
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Ramp, Strength
from hatchel.training.spec import Adam


class Comb(Method):
    """rec + w(t) KL + gamma TC, w falling by equal factors, TC by a discriminator, with the split encoder.

    Ours, of parts of others: FactorVAE's objective, Split Encoder's branches, the opening bottleneck of DynamicVAE and
    DeVAE as a plain schedule, and He's initial weights. While w is large only the factors that explain most enter the
    code; as it falls the others follow, each into a latent of its own, and the discriminator keeps them from mixing.
    Weights are for 64 px; the reconstruction of smaller images is scaled up to that many pixels.
    """

    paper = "this project"
    verified = "equals FactorVAE at a constant w; w at the same share of every training; the initial weights' variance"

    gamma: Strength = 80.0
    """Weight of the total correlation."""
    kl: Strength = Ramp(start=128.0, end=4.0, steps=200_000, delay=12_500, curve="geometric")
    """w(t): falls over two thirds of the training, then stays, so that small factors find a latent that is free."""
    by: Estimator = DensityRatio(hidden=256)
    """How the total correlation is estimated."""

    def terms(self) -> Terms:
        return {"rec": Reconstruction(), "kl": self.kl * KL(), "tc": self.gamma * TotalCorrelation(self.by)}

    def parts(self) -> Parts:
        return {"encoder": Split(), "optimizer": Adam(lr=1e-3), "reconstruction_scale": "64px", "initial": "he"}
