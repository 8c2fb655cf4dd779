"""The upward path of a ladder: one deterministic layer after the other, each with its own numbers about z."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.conv import Conv
from hatchel.nets.layers import convolvable
from hatchel.nets.mlp import Mlp
from hatchel.nets.part import Encoded, Encoder, Shape


class LadderEncoder(Encoder, kind="ladder"):
    """d_1 = f(x), d_l = f(d_l-1); layer l's numbers are a linear map of d_l (Sonderby et al. 2016, Eqs. 13-15).

    Sites come with the top layer first, as latent=ladder has them. Any encoder can be the way from x to d_1.
    """

    layers: tuple[Count, ...] = ()
    "Sites of each layer, from the data up, as the latent's; left out: all are read off the first layer."
    hidden: Count = 128
    "Units of each deterministic layer."
    trunk: Encoder | None = None
    "From x to d_1; left out: conv for images from 16 pixels, mlp for the rest."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        layers = self.layers or (len(widths),)
        if sum(layers) != len(widths):
            raise HatchelError(
                f"encoder=ladder has layers for {sum(layers)} sites and the latent has {len(widths)}. "
                "Set encoder.layers to the latent's layers"
            )
        trunk = (self.trunk or (Conv() if convolvable(shape) else Mlp())).build(shape, (self.hidden,))
        # The top layer's sites come first.
        ends = [len(widths) - sum(layers[:i]) for i in range(len(layers) + 1)]
        heads = [sum(widths[below:above]) for above, below in itertools.pairwise(ends)]
        return _LadderNet(trunk, self.hidden, heads)


class _LadderNet(nn.Module):
    def __init__(self, trunk: nn.Module, hidden: int, heads: list[int]) -> None:
        super().__init__()
        self.trunk = trunk
        self.up = nn.ModuleList([nn.Linear(hidden, hidden) for _ in heads[1:]])
        self.heads = nn.ModuleList([nn.Linear(hidden, width) for width in heads])
        self.activation = nn.LeakyReLU(0.1)

    def forward(self, x: Tensor) -> Encoded:
        first: Encoded = self.trunk(x)
        d = self.activation(first.parameters)
        features, numbers = {**first.features, "d1": d}, [self.heads[0](d)]
        for i, up in enumerate(self.up, 1):
            d = self.activation(up(d))
            features[f"d{i + 1}"] = d
            numbers.append(self.heads[i](d))
        return Encoded(torch.cat(numbers[::-1], 1), features)
