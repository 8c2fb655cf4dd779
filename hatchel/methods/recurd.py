"""RecurD: disentanglement demanded of every layer of a recursive encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from hatchel.core.spec import Count, NonNegative
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.method import Method, Terms
from hatchel.nets.recursive import Recurd0, Recurd0Decoder, Recursive
from hatchel.objective.estimators.estimator import Estimator
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.terms.features import PairwiseInformation
from hatchel.training.spec import Adam

SITES = {0: 8, 1: 8, 2: 16}
"""Encoders in the last group (Tables 3 to 5)."""


class Recurd(Method):
    """rec + l1 (KL + sum_l sum_{i!=j} I(m_i^l; m_j^{l+1})) + l2 sum_l sum_{i!=j} I(m_i^l; m_j^l).

    m_i^l is what encoder i of module l reads, l = 2 .. L, and m^{L+1} the drawn code. The KL stands for I(x; z), its
    lower bound (section 5.1.3). There the paper also says that l2 = 0 is beta-VAE on this architecture: so without l2
    the pairs between layers are left out as well.
    """

    paper = "Chen et al. 2022"
    verified = "equals beta-VAE at l2 = 0; MINE of Gaussian pairs; grouped encoders equal single ones; routing by k"

    l1: NonNegative = 1.0
    """Weight of minimal sufficiency."""
    l2: NonNegative = 2.0
    """Weight of disentanglement."""
    depth: Literal[0, 1, 2] = 1
    """Modules with a router: 1 for dSprites and 3DShapes, 2 for CelebA; 0 is the plain encoder."""
    k: Count = 2
    """Features that each encoder reads."""
    nets: Literal["shared", "specific"] = "shared"
    """MINE networks: one for each pair of layers, or one for each pair of features."""
    inputs: Literal["pooled", "flat"] = "pooled"
    """What they see of a feature map: its mean over space, or all of it, as the paper's Table 10 suggests."""
    together: Count = 1
    """Latent dimensions each last encoder gives: 2 on CelebA."""
    by: Estimator = MINE(hidden=32)
    """Four layers in the paper, which does not print their size."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        terms: dict[str, Any] = {"rec": Reconstruction(), "kl": self.l1 * KL()}
        if self.l2 == 0:
            return terms
        modules = tuple(f"m{layer}" for layer in range(2, self.depth + 2))
        if modules:
            terms["between"] = self.l1 * self._pairs(modules, "between")
        terms["within"] = self.l2 * self._pairs(modules, "within")
        return terms

    def parts(self) -> Mapping[str, Any]:
        """Tables 3 to 5 and appendix D."""
        adam = Adam(lr=1e-4)
        return {
            "encoder": Recursive(depth=self.depth, k=self.k, together=self.together) if self.depth else Recurd0(),
            "decoder": Recurd0Decoder(),
            "latent": Diagonal(SITES[self.depth] * self.together),
            "optimizer": adam,
            "critic_optimizer": adam,
        }

    def _pairs(self, modules: tuple[str, ...], over: Literal["within", "between"]) -> PairwiseInformation:
        return PairwiseInformation(self.by, modules, over, self.nets, self.inputs, self.together)
