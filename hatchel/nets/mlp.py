"""Fully connected encoder and decoder, for images and for the rows of a table."""

from __future__ import annotations

import itertools
import math
from typing import Literal

from torch import nn

from hatchel.core.spec import Count
from hatchel.nets.layers import Headed, ToRow, ToShape
from hatchel.nets.part import Decoder, Encoder, Shape

Activation = Literal["relu", "tanh", "leaky_relu", "elu", "gelu", "silu"]


def activated(name: Activation) -> nn.Module:
    """The activation of that name, with torch's defaults (leaky ReLU: slope 0.01)."""
    if name == "relu":
        return nn.ReLU(inplace=True)
    classes = {"tanh": nn.Tanh, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "gelu": nn.GELU, "silu": nn.SiLU}
    return classes[name]()


class Mlp(Encoder):
    """Fully connected layers on the flattened data.

    >>> sum(p.numel() for p in Mlp(hidden=(8,)).build((4,), (2, 2)).parameters())  # 4*8 + 8 + 8*4 + 4
    76
    """

    hidden: tuple[Count, ...] = (512, 256)
    "Sizes of the hidden layers."
    activation: Activation = "relu"
    "After each hidden layer."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        size, layers = math.prod(shape), dict[str, nn.Module]()
        for i, units in enumerate(self.hidden, 1):
            layers[f"hidden{i}"] = nn.Sequential(ToRow(), nn.Linear(size, units), activated(self.activation))
            size = units
        return Headed(layers, nn.Sequential(ToRow(), nn.Linear(size, sum(widths))))


class MlpDecoder(Decoder):
    """Fully connected layers from the code to the data's values, the last without activation (logits or means).

    >>> sum(p.numel() for p in MlpDecoder(hidden=(8,)).build(2, (4,)).parameters())  # 2*8 + 8 + 8*4 + 4
    60
    """

    hidden: tuple[Count, ...] = (256, 512)
    "Sizes of the hidden layers."
    activation: Activation = "relu"
    "After each hidden layer."

    def build(self, width: int, shape: Shape) -> nn.Module:
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise((width, *self.hidden)):
            layers += [nn.Linear(inputs, outputs), activated(self.activation)]
        last = nn.Linear(self.hidden[-1] if self.hidden else width, math.prod(shape))
        return nn.Sequential(*layers, last, ToShape(shape))
