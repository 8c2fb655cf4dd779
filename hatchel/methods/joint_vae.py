"""JointVAE: continuous and discrete variables, each held at a capacity of its own."""

from __future__ import annotations

import math

from hatchel.core.spec import Count, NonNegative, in_steps
from hatchel.latents.concrete import Temperature
from hatchel.latents.mixed import Mixed
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Capacity
from hatchel.training.spec import Adam


class JointVAE(Method):
    """rec + gamma |KL_style - C_z(t)| + gamma |KL_class - C_c(t)|, both C linear from 0."""

    paper = "Dupont 2018"
    verified = "the two KLs add up to the whole; the discrete capacity stays below log K"
    paper_steps = 93_750  # 100 epochs of MNIST in batches of 64, as in the authors' own settings

    gamma: NonNegative = 30.0
    """How hard both are held: 30 on MNIST, 150 on dSprites."""
    continuous: NonNegative = 5.0
    """C_z after the climb, in nats: 5 on MNIST, 40 on dSprites."""
    discrete: NonNegative = 5.0
    """C_c after the climb, at most log K, beyond which no discrete variable can go: 5 on MNIST, 1.1 on dSprites."""
    climb: Count = in_steps(default=25_000)
    """Steps of the climb: 25,000 on MNIST, 300,000 on dSprites."""
    style: Count = 10
    """Gaussian coordinates."""
    classes: Count = 10
    """Classes of the discrete variable."""
    temperature: Temperature = Temperature(0.67)
    """Of the relaxed classes, a number or a schedule."""

    def terms(self) -> Terms:
        """Eq. 7 of the paper."""
        discrete = min(self.discrete, math.log(self.classes))
        return {
            "rec": Reconstruction(),
            "kl_style": Capacity(self.gamma, 0.0, self.continuous, self.climb) * KL(("style",)),
            "kl_class": Capacity(self.gamma, 0.0, discrete, self.climb) * KL(("class",)),
        }

    def parts(self) -> Parts:
        """The KL of the categorical distributions, as in the paper's Eq. 6; the authors' rate of 5e-4."""
        groups = {"style": Gaussian(self.style), "class": Concrete(self.classes)}
        latent = Mixed(groups, temperature=self.temperature, discrete_kl="categorical")
        return {"latent": latent, "optimizer": Adam(lr=5e-4)}
