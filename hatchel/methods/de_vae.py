"""DeVAE: a bottleneck that narrows from one latent space to the next."""

from __future__ import annotations

from typing import Literal

from hatchel.core.spec import Count, NonNegative
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import PerLevel
from hatchel.training.spec import Adam


class DeVAE(Method, kind="de_vae"):
    """rec(z_i) + beta_i KL(q(z_i|x)||p), a level i drawn for each batch.

    For coloured images the paper's reconstruction is a squared error: likelihood=squared_error. Its Eqs. 4 to 6 scale
    sigma by exp w2, and are followed; its Algorithm 1 adds w2 to the log-variance. Its p(i) (Eq. 8) does not sum to 1,
    and is made to.
    """

    paper = "Wu et al., Decremental Information Bottleneck (Wu et al. 2023)"
    verified = "MIG equal at all levels; correlations kept; Eq. 6 by hand; draws' frequencies; s = 0 is a VAE"

    betas: tuple[NonNegative, ...] = (1.0, 10.0, 40.0)
    """One a level; the paper also has (1, 10) and (1, 10, 20, 40, 80). One number: a single space."""
    scale: NonNegative = 1.0
    """s: level i is drawn in proportion to s^i."""
    spaces: Literal["scaled", "linear", "parallel"] = "scaled"
    """How the next space comes about; the other two are the paper's ablations."""
    levels: Literal["drawn", "summed"] = "drawn"
    """A step works on one level that is drawn, or on all, their losses added up as in the authors' released code."""
    dim: Count = 10
    """D, the coordinates of each space: up to 1024 in the paper."""

    def terms(self) -> Terms:
        """Eq. 2 of the paper."""
        return {"rec": Reconstruction(), "kl": PerLevel(self.betas) * KL()}

    def parts(self) -> Parts:
        """Section 3: Adam 1e-4, batches of 256."""
        latent = ScaledHierarchy(Diagonal(self.dim), len(self.betas), self.scale, self.spaces, self.levels)
        return {"latent": latent, "optimizer": Adam(lr=1e-4), "batch_size": 256}
