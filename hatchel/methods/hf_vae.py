"""HFVAE: independence between groups and inside them, each with its weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hatchel.core.spec import Count, NonNegative, added, in_steps
from hatchel.latents.concrete import Form, Temperature
from hatchel.latents.mixed import Mixed
from hatchel.latents.variables import Concrete, Gaussian, Variable
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import KL, RealKL, Reconstruction
from hatchel.objective.weights import Ramp
from hatchel.training.spec import Adam


class HFVAE(Method, kind="hf_vae"):
    """rec + alpha I(x;z) + beta TC(groups) + gamma sum_g TC(z_g) + sum_d KL(q(z_d)||p(z_d)), and a head start (ours).

    The encoders and decoders of its tables: encoder=hfvae_mnist decoder=hfvae_mnist_decoder, and so on. The paper does
    not say how the classes come to be used; here they are by two choices, `discrete` and `head_start`. How well they
    find the digits of MNIST differs much from seed to seed: compare over several.
    """

    paper = "Esmaeili et al. 2019"
    verified = (
        "terms telescope to log q(z|x) - log p(z) for nested groups, learned priors and every form of the classes; "
        "one group: beta-TCVAE's"
    )

    alpha: NonNegative = 1.0
    """Weight of the mutual information."""
    beta: NonNegative = 4.0
    """Weight of the correlation between groups, less the prior's own: 4 on dSprites, 5 on CelebA."""
    gamma: NonNegative = 3.0
    """Weight of the correlation inside groups, less the prior's own; where groups nest deeper, at each level."""
    style: Count = 10
    """Gaussian coordinates."""
    classes: Count = 10
    """Classes of the discrete variable: 10 for digits, 3 for the shapes of dSprites."""
    groups: Mapping[str, Variable] | None = None
    """Other groups than these two, by name."""
    prior: Literal["standard", "groups", "whole"] = "standard"
    """Whether the prior's covariance and class probabilities are learned."""
    temperature: Temperature = Temperature()
    """Of the relaxed classes, a number or a schedule."""
    discrete: Form = "soft"
    """Density of the classes in every term; `pmf` is the authors' library's. `soft` is no bound of the likelihood."""
    head_start: NonNegative = 10.0
    """Ours: an extra weight on the KL of the real coordinates, which falls to 0, so that the classes are used before
    style explains everything; 0 switches it off."""
    head_start_steps: Count = in_steps(default=150_000)
    """Steps over which it falls: the first half of the training."""
    by: Density = Stratified()
    """How log q(z) is estimated: Eq. 13 of the paper."""
    reads_class: bool = added(default=False)
    """Whether style reads the drawn class, q(s|x,c), as in the authors' program; in the paper's tables it does not."""

    def latent(self) -> Mixed:
        groups = self.groups or _two_groups(self.style, self.classes)
        # In closed form for the head start; at weight 10 the noise of a drawn KL would count.
        return Mixed(groups, self.prior, self.temperature, "categorical", self.discrete, self.reads_class)

    def terms(self) -> Terms:
        """Eq. 9 of the paper, and the head start."""
        variables = self.latent().groups.values()
        deeper = range(2, 2 + max(v.depth for v in variables))
        between = {"between": self.beta * TotalCorrelation(self.by, over="groups")} if len(variables) > 1 else {}
        return {
            "rec": Reconstruction(),
            "mi": self.alpha * MutualInformation(self.by),
            **between,
            **{f"parts{d}": self.gamma * TotalCorrelation(self.by, over="nested", depth=d) for d in deeper},
            "within": self.gamma * TotalCorrelation(self.by, over="within"),
            "dw": DimensionKL(self.by),
            **_head_start(self.head_start, self.head_start_steps, self.latent()),
        }

    def parts(self) -> Parts:
        """Section 6: Adam 1e-3, batches of 512 to 1024; at 256 estimates of TC fall below 0, and gamma rewards that."""
        return {"latent": self.latent(), "optimizer": Adam(lr=1e-3), "batch_size": 512}


class BetaSVAE(Method, kind="beta_svae"):
    """rec + beta KL with Gaussian and discrete groups."""

    paper = "Esmaeili et al. 2019, its baseline"
    verified = "equals beta-VAE with one Gaussian group; densities of the classes against torch.distributions"

    beta: NonNegative = 4.0
    """Weight of the KL."""
    style: Count = 10
    """Gaussian coordinates."""
    classes: Count = 10
    """Classes of the discrete variable."""
    groups: Mapping[str, Variable] | None = None
    """Other groups than these two, by name."""
    temperature: Temperature = Temperature()
    """Of the relaxed classes, a number or a schedule."""
    discrete: Form = "soft"
    """Density of the classes in the KL, as in HFVAE."""
    head_start: NonNegative = 0.0
    """As in HFVAE; 0: none, as in the paper."""
    head_start_steps: Count = in_steps(default=150_000)
    """Steps over which it falls."""
    reads_class: bool = added(default=False)
    """As in HFVAE."""

    def latent(self) -> Mixed:
        groups = self.groups or _two_groups(self.style, self.classes)
        return Mixed(groups, temperature=self.temperature, discrete=self.discrete, reads_class=self.reads_class)

    def terms(self) -> Terms:
        first = _head_start(self.head_start, self.head_start_steps, self.latent())
        return {"rec": Reconstruction(), "kl": self.beta * KL(), **first}

    def parts(self) -> Parts:
        return {"latent": self.latent(), "optimizer": Adam(lr=1e-3), "batch_size": 512}


def _head_start(weight: float, steps: int, latent: Mixed) -> Terms:
    """An extra weight on the real coordinates, where there are classes to start ahead of them."""
    if not weight or not latent.layout.coordinates or not latent.layout.discrete:
        return {}
    return {"head_start": Ramp(weight, 0.0, steps) * RealKL()}


def _two_groups(style: int, classes: int) -> Mapping[str, Variable]:
    return {"style": Gaussian(style), "class": Concrete(classes)}
