"""InfoGAN: a generator whose items keep the code they were made from."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge

from hatchel.core.spec import Count, NonNegative
from hatchel.latents.code_noise import Classes, CodeNoise
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.estimators.discriminator import Discriminator
from hatchel.objective.estimators.estimator import Critic
from hatchel.objective.terms.generated import Adversarial, GeneratedInformation
from hatchel.training.spec import Adam, CriticAdam


class InfoGAN(Method, kind="info_gan"):
    """-log D(G(n,c)) - lambda I(c;G(n,c)), c a code and n noise; the representation is the mean of Q(c|x).

    Encoder: Q; decoder: G, whose mean image is the item. The paper's Q shares all layers but the last with D. Here D is
    a critic with layers of its own: what D learns must not move Q, or no gradient of one game could be kept
    out of the other.
    """

    paper = "Chen et al. 2016"
    verified = "discriminator's optimum for known densities; bound near H(c) for a copied class; no gradient crosses"

    weight: NonNegative = 0.1
    """lambda: of the order of 1 for classes, smaller for coordinates."""
    code: Count = 10
    """Coordinates of c."""
    classes: tuple[Classes, ...] = ()
    """Discrete variables of c; one of 10 classes on MNIST."""
    noise: Annotated[int, Ge(0)] = 62
    """Coordinates of n."""
    prior: Literal["normal", "uniform"] = "uniform"
    """Of the coordinates of c."""
    critic: Critic = Discriminator()
    """The discriminator."""

    def terms(self) -> Terms:
        """Eq. 6 of the paper, with the non-saturating loss."""
        return {"adversarial": Adversarial(self.critic), "information": -self.weight * GeneratedInformation()}

    def parts(self) -> Parts:
        """Appendix C: Adam with 1e-3 for the generator, 2e-4 for the discriminator, beta1 0.5."""
        return {
            "latent": CodeNoise(self.code, self.classes, self.noise, self.prior),
            "optimizer": Adam(lr=1e-3, beta1=0.5),
            "critic_optimizer": CriticAdam(lr=2e-4, beta2=0.999),
        }
