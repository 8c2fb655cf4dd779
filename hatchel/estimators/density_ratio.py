"""DensityRatio: the discriminator of FactorVAE."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hatchel.distributed import gather
from hatchel.estimators.estimator import Critic, CriticModule
from hatchel.spec import Count, NonNegative
from hatchel.trace import Trace


class DensityRatio(Critic):
    """A classifier that separates z from z with every block permuted (Kim & Mnih 2018, Eq. 3 and Alg. 2).

    With logits (joint, product), log q(z) / prod q(z_d) ~ logit_joint - logit_product. (Paper 004, Eq. 6 prints
    E[D/(1-D)]: the log is missing.)
    """

    hidden: Count = 1000
    """Units of each hidden layer."""
    layers: Count = 6
    """Linear layers in all, as in the paper."""
    slope: NonNegative = 0.2
    """Of the leaky ReLU."""
    product: Literal["permuted", "half", "independent"] = "permuted"
    """Where the product's samples come from: this batch permuted; its second half permuted, with the first half as the
    joint's; or an independent batch permuted, as in the original algorithm. Equal numbers of updates in all three."""

    @property
    def wants_independent_batch(self) -> bool:
        """As in the original algorithm."""
        return self.product == "independent"

    def product_source(self, t: Trace) -> Tensor:
        """The codes to permute, according to `product`."""
        if self.product == "half":
            return gather(t.z.detach())[1::2]
        if self.product == "independent":
            assert t.z_independent is not None
            return gather(t.z_independent)
        return super().product_source(t)

    def build(self, width: int) -> CriticModule:
        """The multi-layer perceptron with two logits."""
        sizes = [width] + [self.hidden] * (self.layers - 1)
        hidden = [module for i, o in pairwise(sizes) for module in (nn.Linear(i, o), nn.LeakyReLU(self.slope))]
        return _Classifier(nn.Sequential(*hidden, nn.Linear(sizes[-1], 2)), halves=self.product == "half")


class _Classifier(CriticModule):
    def __init__(self, net: nn.Module, halves: bool) -> None:
        super().__init__()
        self.net = net
        self.halves = halves

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        logits = self.net(joint)
        return logits[:, 0] - logits[:, 1]

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        if self.halves:
            joint = joint[0::2]
        # With two logits, the cross-entropy of each class is a softplus of their difference. Both classes in one pass:
        # at a batch's size reading the weights and writing their gradient costs as much as the arithmetic.
        ratios = self(torch.cat([joint, product]), product)
        return 0.5 * (F.softplus(-ratios[: len(joint)]) + F.softplus(ratios[len(joint) :]))
