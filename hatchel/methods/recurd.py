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
from hatchel.training.spec import Adam, CriticAdam


class Recurd(Method):
    """rec + l1 (KL + sum_l sum_{i!=j} I(r_i^l; m_j^{l+1})) + l2 sum_l sum_{i<j} I(m_i^l; m_j^l).

    m_j^l is what encoder j of module l - 1 gives, l = 2 .. L, m^{L+1} the drawn code, and r_i^l what encoder i of
    module l reads: its router's mixture of m^l. Eq. 4 prints I(m_i^l; m_j^{l+1}); its Definition 5 speaks of "input
    feature subsets" m_i^l that correspond to the outputs m_i^{l+1}, which are the r_i^l here: with 4 features and
    8 heads, i != j over outputs forbids nearly every way from features to codes. The paper has no KL in Eq. 4; section
    5.1.3 lets the KL stand for I(x; z), its lower bound, and says that l2 = 0 is beta-VAE on this architecture: that is
    `between` none as well, as Eq. 4 keeps its second term at l2 = 0.
    """

    paper = "Chen et al. 2022"
    verified = (
        "equals beta-VAE without pairs; MINE of Gaussian pairs and of frozen features; Table 10's counts; routing"
    )

    l1: NonNegative = 1.0
    """Weight of minimal sufficiency: the KL and the pairs between layers. 0.1 to 50 in the paper's Fig. 6."""
    l2: NonNegative = 2.0
    """Weight of disentanglement, the pairs inside each layer; 0 leaves these out alone. 0.1 to 50 in Fig. 6."""
    kl: bool = True
    """With l1 KL(q(z|x)||p), as in section 5.1.3; Eq. 4 has none."""
    between: Literal["routed", "outputs", "none"] = "routed"
    """Pairs between layers: what encoder i reads with what encoder j gives (our reading), what both give (Eq. 4 and
    appendix E.4), or no such pairs."""
    within: Literal["outputs", "routed"] = "outputs"
    """Pairs inside a layer: what its encoders give (appendix E.4), or what the encoders after it read, which are
    mixtures of the same few maps and cannot become independent."""
    depth: Literal[0, 1, 2] = 1
    """Modules with a router: 1 for dSprites and 3DShapes, 2 for CelebA; 0 is the plain encoder."""
    heads: Count = 8
    """Encoders in the last group: 8 on dSprites and 3DShapes, 16 on CelebA; heads x together latent dimensions."""
    k: Count = 2
    """Features that each encoder reads."""
    reading: Literal["total", "literal"] = "total"
    """Of the widths in Tables 4 and 5: of a module in sum, which fits Table 10 best, or of each of its encoders; no
    reading fits all its rows."""
    nets: Literal["shared", "specific"] = "shared"
    """MINE networks: one for each pair of layers, or one for each pair of features."""
    inputs: Literal["2x2", "4x4", "pooled", "flat"] = "2x2"
    """What they see of a feature map, which the paper does not print: its means over 2x2 or 4x4 cells, its mean over
    space, or all of it. With 2x2, MINEs for each pair of outputs have 7.17 M parameters on CelebA; its appendix E.4
    has 7.214 M."""
    together: Count = 1
    """Latent dimensions each head gives: 2 in the paper's last pictures of CelebA."""
    by: Estimator = MINE()
    """Four layers in the paper, which does not print their size."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        levels = range(2, self.depth + 2)
        given, read = tuple(f"m{level}" for level in levels), tuple(f"routed{level}" for level in levels)
        terms: dict[str, Any] = {"rec": Reconstruction()}
        if self.kl:
            terms["kl"] = self.l1 * KL()
        if given and self.between != "none":
            terms["between"] = self.l1 * self._pairs(given, "between", read if self.between == "routed" else ())
        if self.l2:
            terms["within"] = self.l2 * self._pairs(given if self.within == "outputs" else read, "within")
        return terms

    def parts(self) -> Mapping[str, Any]:
        """Tables 3 to 5 and appendix D: one rate for model and MINE, whatever it is set to."""
        recursive = Recursive(depth=self.depth or 1, k=self.k, together=self.together, reading=self.reading)
        return {
            "encoder": recursive if self.depth else Recurd0(),
            "decoder": Recurd0Decoder(),
            "latent": Diagonal(self.heads * self.together),
            "optimizer": Adam(lr=1e-4),
            "critic_optimizer": CriticAdam(beta1=0.9, beta2=0.999),
        }

    def _pairs(
        self, modules: tuple[str, ...], over: Literal["within", "between"], routed: tuple[str, ...] = ()
    ) -> PairwiseInformation:
        return PairwiseInformation(self.by, modules, over, self.nets, self.inputs, self.together, routed)
