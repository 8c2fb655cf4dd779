"""NVAE-lite: a deep hierarchical VAE, small enough for a CPU."""

from __future__ import annotations

from hatchel.core.spec import Count, in_steps
from hatchel.latents.nvae import Nvae
from hatchel.methods.method import Method, Parts, Terms
from hatchel.nets.residual import Residual, ResidualDecoder
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Ramp


class NvaeLite(Method, kind="nvae_lite"):
    """rec + w(t) sum_l KL(q(z_l|z_>l,x)||p(z_l|z_>l)), groups on growing grids; metrics read all means, top first."""

    paper = "Vahdat & Kautz 2020"
    verified = "relative posteriors by hand; groups' KLs against Monte Carlo; sites laid out as their grids"

    sides: tuple[Count, ...] = (1, 4)
    """Side of the grid of each group, from the top down."""
    variables: tuple[Count, ...] = (8, 1)
    """Latent variables at each point of each group."""
    channels: Count = 32
    """Of all features."""
    warmup: Count = in_steps(default=10_000)
    """Steps in which w grows from 0 to 1."""

    def terms(self) -> Terms:
        """Eq. 2 of the paper, with its warm-up."""
        return {"rec": Reconstruction(), "kl": Ramp(0.0, 1.0, self.warmup) * KL()}

    def parts(self) -> Parts:
        latent = Nvae(self.sides, self.variables, self.channels)
        encoder = Residual(self.channels, latent.maps)
        return {"latent": latent, "encoder": encoder, "decoder": ResidualDecoder(self.channels, latent.state)}
