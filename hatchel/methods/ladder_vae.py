"""LadderVAE: several layers of latent variables, inferred from above and below."""

from __future__ import annotations

from typing import Literal

from hatchel.core.spec import Count, in_steps
from hatchel.latents.ladder import Ladder
from hatchel.methods.method import Method, Parts, Terms
from hatchel.nets.ladder import LadderEncoder
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Ramp


class LadderVAE(Method):
    """rec + w(t) sum_l KL(q(z_l|z_l+1,x)||p(z_l|z_l+1)), w from 0 to 1; metrics read all layers' means, top first."""

    paper = "Sonderby et al. 2016"
    verified = "precision-weighted merge by hand; layers' KLs against Monte Carlo; a part's density is refused"

    layers: tuple[Count, ...] = (10, 5)
    """Coordinates of each layer, from the data up."""
    warmup: Count = in_steps(default=10_000)
    """Steps in which w grows from 0 to 1."""
    reads: Literal["bottom", "all"] = "bottom"
    """What the decoder reads: the lowest layer, or all."""

    def terms(self) -> Terms:
        """Eq. 8 of the paper with the warm-up of its Sec. 2.2."""
        return {"rec": Reconstruction(), "kl": Ramp(0.0, 1.0, self.warmup) * KL()}

    def parts(self) -> Parts:
        return {"latent": Ladder(self.layers, reads=self.reads), "encoder": LadderEncoder(self.layers)}
