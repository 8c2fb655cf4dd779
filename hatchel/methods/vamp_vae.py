"""VampPrior VAE: a prior made of the posteriors of learned inputs."""

from __future__ import annotations

from hatchel.core.spec import Count
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.vamp import Vamp
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction


class VampVAE(Method):
    """rec + KL(q(z|x)||p(z)), p(z) = 1/K sum_k q(z|u_k) with learned pseudo-inputs u_k."""

    paper = "Tomczak & Welling 2018"
    verified = "prior density against torch.distributions; gradients reach the pseudo-inputs; one component: a VAE"

    components: Count = 500
    """K; every step encodes so many items more."""
    dim: Count = 10
    """Coordinates."""

    def terms(self) -> Terms:
        """Eq. 2 of the paper; the KL at the draw."""
        return {"rec": Reconstruction(), "kl": KL()}

    def parts(self) -> Parts:
        """The prior of its Eq. 9."""
        return {"latent": Vamp(Diagonal(self.dim), self.components)}
