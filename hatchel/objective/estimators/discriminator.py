"""Critics that classify: FactorVAE's density ratio of codes, and InfoGAN's discriminator of items."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hatchel.core.distributed import gather
from hatchel.core.spec import Count, NonNegative
from hatchel.nets.layers import ToRow, convolvable, fitted, grid_of
from hatchel.nets.part import Shape
from hatchel.objective.estimators.estimator import Critic, CriticModule
from hatchel.objective.estimators.pair_pass import pays
from hatchel.objective.estimators.row_pass import RowPass
from hatchel.objective.trace import Trace


class DensityRatio(Critic):
    """A classifier that separates z from z with every block permuted (Kim & Mnih 2018, Eq. 3 and Alg. 2).

    With logits (joint, product), log q(z) / prod q(z_d) ~ logit_joint - logit_product. (Cheng et al. 2020, Eq. 6 prints
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
    def needs(self) -> frozenset[str]:
        return frozenset({"independent"} if self.product == "independent" else ())

    def product_source(self, t: Trace) -> Tensor:
        if self.product == "half":
            return gather(t.z.detach())[1::2]
        if self.product == "independent":
            return gather(t.z_independent)
        return super().product_source(t)

    def build(self, width: int) -> CriticModule:
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

    def both(self, joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor] | None:
        if self.halves or len(joint) != len(product) or not pays(joint):
            return None
        found: tuple[Tensor, Tensor] = RowPass.apply(  # pyright: ignore[reportAssignmentType]
            lambda rows: self(rows, rows), joint, product, *self.parameters()
        )
        return found


class Discriminator(Critic):
    """A classifier of generated items and the data's (Goodfellow et al. 2014, Eq. 1).

    Its one logit f grows to log p(generated) - log p(data), so that D = 1 / (1 + exp f) is the chance that an item is
    the data's. Images whose side is a power of two from 16 are read by 4x4 convolutions with stride 2 down to a 4x4
    grid, all else (rows, codes) by fully connected layers. No batch statistics: items are judged one by one, and two
    processes give the result of one.
    """

    channels: tuple[Count, ...] = (32, 32, 64, 64)
    """Of the convolutions, at 64 px; smaller images drop from the front, larger ones repeat the first."""
    hidden: tuple[Count, ...] = (256, 256)
    """Of the fully connected layers; behind convolutions the last of them alone."""
    slope: NonNegative = 0.1
    """Of the leaky ReLU."""

    def build(self, width: int) -> CriticModule:
        return _Judge(nn.Sequential(*self._layers((width, *self.hidden))))

    def build_items(self, shape: Shape) -> CriticModule:
        if not convolvable(shape):
            return _Judge(nn.Sequential(ToRow(), *self._layers((math.prod(shape), *self.hidden))))
        grid = grid_of(shape, "discriminator", "hidden alone")
        channels = (shape[0], *fitted(self.channels, grid.layers))
        layers = grid.padding(shape)
        for inputs, outputs in pairwise(channels):
            layers += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.LeakyReLU(self.slope)]
        return _Judge(nn.Sequential(*layers, ToRow(), *self._layers((channels[-1] * grid.places, *self.hidden[-1:]))))

    def _layers(self, sizes: tuple[int, ...]) -> list[nn.Module]:
        hidden = [module for i, o in pairwise(sizes) for module in (nn.Linear(i, o), nn.LeakyReLU(self.slope))]
        return [*hidden, nn.Linear(sizes[-1], 1)]


class _Judge(CriticModule):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        return self.net(joint)[:, 0]

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        # Equal numbers of both: the mean of their cross-entropies.
        return 0.5 * (F.softplus(-self(joint, joint)) + F.softplus(self(product, product)))
