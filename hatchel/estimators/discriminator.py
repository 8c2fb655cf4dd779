"""Discriminator: the critic of a generator."""

from __future__ import annotations

import math
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.estimators.estimator import Critic, CriticModule
from hatchel.nets.grid import GRID, ToRow, fitted, halvings
from hatchel.nets.part import Shape
from hatchel.spec import Count, NonNegative


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
        """For rows of `width` numbers."""
        return _Judge(nn.Sequential(*self._layers((width, *self.hidden))))

    def build_items(self, shape: Shape) -> CriticModule:
        """With convolutions where the items are images that suit them."""
        side = shape[-1]
        if len(shape) != 3 or shape[1] != side or side < 4 * GRID or side & (side - 1):
            return _Judge(nn.Sequential(ToRow(), *self._layers((math.prod(shape), *self.hidden))))
        channels = (shape[0], *fitted(self.channels, halvings(shape, "discriminator", "hidden alone")))
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(channels):
            layers += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.LeakyReLU(self.slope)]
        return _Judge(nn.Sequential(*layers, ToRow(), *self._layers((channels[-1] * GRID**2, *self.hidden[-1:]))))

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
