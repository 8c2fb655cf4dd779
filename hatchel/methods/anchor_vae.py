"""Anchor VAE: some coordinates rewarded for their information about the data."""

from __future__ import annotations

from hatchel.core.spec import NonNegative
from hatchel.methods.method import Method, Terms
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import MSS
from hatchel.objective.terms.decomposition import MutualInformation
from hatchel.objective.terms.elbo import KL, Reconstruction


class AnchorVAE(Method):
    """rec + KL - lambda I(x;z_a) for some anchor coordinates (Esmaeili et al. 2019, Table 1)."""

    paper = "Gao et al. 2019 (Anchor/CorEx)"
    verified = "equals VAE at weight 0; the anchors' information alone is rewarded"

    weight: NonNegative = 1.0
    """lambda."""
    anchors: tuple[int, ...] = (0, 1)
    """The coordinates that should be informative about the data."""
    by: Density = MSS()
    """How log q(z_a) is estimated."""

    def terms(self) -> Terms:
        """Esmaeili et al. 2019, Table 1."""
        return {
            "rec": Reconstruction(),
            "kl": KL(),
            "anchor": -self.weight * MutualInformation(self.by, self.anchors),
        }
