"""The encoders and decoders of HFVAE (Esmaeili et al., Hierarchical Disentangled Representations), Tables 3 to 5.

All three encoders read the discrete variable z_c from a side branch at the layer before the last. The tables print that
last hidden layer as "2x200" (2x400, 2x256) and the output as "2x10": two layers of 200, one for the means and one for
the scales, here log-variances.
"""

from __future__ import annotations

import math
from typing import Literal

from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.conv import convolutions, upconvolutions
from hatchel.nets.layers import Branched, ToRow, ToShape, fitted, grid_of
from hatchel.nets.mlp import MlpDecoder
from hatchel.nets.part import Decoder, Encoder, Shape

CHANNELS = (32, 32, 64, 64)


class HfvaeMnist(Encoder):
    """FC 400, FC 2x200, ReLU; Gaussian sites from the two 200, discrete ones from the 400 (HFVAE, Table 3).

    >>> from hatchel.nets.part import Classes
    >>> sum(p.numel() for p in HfvaeMnist().build((1, 28, 28), (2,) * 10 + (Classes(10),)).parameters())
    482430
    """

    hidden: tuple[Count, ...] = (400, 200)
    "Sizes of the hidden layers; the last serves the Gaussian sites, the one before it the discrete ones."
    branches: Literal[1, 2] = 2
    "Layers of the last size: one for means and one for log-variances, or one that both read, as in version 0.1."

    def check(self) -> None:
        if len(self.hidden) < 2:
            raise HatchelError(
                "hidden: name at least two sizes; the discrete sites are read from the layer before the last"
            )

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        size, layers = math.prod(shape), dict[str, nn.Module]()
        sizes = (*self.hidden[:-1], self.branches * self.hidden[-1])
        for i, units in enumerate(sizes, 1):
            layers[f"hidden{i}"] = nn.Sequential(ToRow(), nn.Linear(size, units), nn.ReLU(inplace=True))
            size = units
        return Branched(layers, (sizes[-2], sizes[-1]), widths, self.branches == 2)


class HfvaeDsprites(HfvaeMnist):
    """FC 1200, FC 1200, FC 2x400, ReLU; Gaussian sites from the 400s, discrete ones from the second 1200 (Table 4).

    >>> from hatchel.nets.part import Classes
    >>> sum(p.numel() for p in HfvaeDsprites().build((1, 64, 64), (2,) * 10 + (Classes(3),)).parameters())
    7330023
    """

    hidden: tuple[Count, ...] = (1200, 1200, 400)
    "Sizes of the hidden layers; the last serves the Gaussian sites, the one before it the discrete ones."


class HfvaeCeleba(Encoder):
    """Convolutions 32, 32, 64, 64 with BatchNorm, FC 2x256; Gaussian sites from the 256s, discrete ones from the grid.

    HFVAE, Table 5. It prints ReLU after the last layer, "FC 2x20"; we use none: a mean must be free to be negative.
    While training, BatchNorm ties the items of a batch together: q(z|x) then depends on the batch, and with several
    processes each normalises by its own share. The convolutions have no bias, which BatchNorm would take out again.

    >>> from hatchel.nets.part import Classes
    >>> sum(p.numel() for p in HfvaeCeleba().build((3, 64, 64), (2,) * 20 + (Classes(3),)).parameters())
    654763
    """

    hidden: Count = 256
    "Size of each fully connected layer that serves the Gaussian sites."
    branches: Literal[1, 2] = 2
    "Layers of the last size: one for means and one for log-variances, or one that both read, as in version 0.1."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        layers, grid = convolutions(shape, CHANNELS, "encoder=hfvae_celeba", batch_norm=True)
        size = grid.places * CHANNELS[-1]
        units = self.branches * self.hidden
        layers["hidden1"] = nn.Sequential(ToRow(), nn.Linear(size, units), nn.ReLU(inplace=True))
        return Branched(layers, (size, units), widths, self.branches == 2)


class HfvaeMnistDecoder(Decoder):
    """FC 200, FC 400, ReLU, and a value for each pixel (HFVAE, Table 3).

    The paper prints a sigmoid at the end; the Bernoulli likelihood applies it, in the form that does not overflow.

    >>> sum(p.numel() for p in HfvaeMnistDecoder().build(20, (1, 28, 28)).parameters())
    398984
    """

    def build(self, width: int, shape: Shape) -> nn.Module:
        return MlpDecoder(hidden=(200, 400)).build(width, shape)


class HfvaeDspritesDecoder(Decoder):
    """FC 400, FC 1200, FC 1200, tanh, and a value for each pixel (HFVAE, Table 4).

    The paper prints a sigmoid at the end; the Bernoulli likelihood applies it, in the form that does not overflow.

    >>> sum(p.numel() for p in HfvaeDspritesDecoder().build(13, (1, 64, 64)).parameters())
    6847296
    """

    def build(self, width: int, shape: Shape) -> nn.Module:
        return MlpDecoder(hidden=(400, 1200, 1200), activation="tanh").build(width, shape)


class HfvaeCelebaDecoder(Decoder):
    """FC 256 ReLU, FC 4x4x64 tanh, transposed convolutions 64, 32, 32 with BatchNorm and ReLU, then the image.

    HFVAE, Table 5; its last layer has no activation, nor has ours. On BatchNorm see the encoder.

    >>> sum(p.numel() for p in HfvaeCelebaDecoder().build(23, (3, 64, 64)).parameters())
    385795
    """

    def build(self, width: int, shape: Shape) -> nn.Module:
        grid = grid_of(shape, "decoder=hfvae_celeba_decoder", "decoder=mlp_decoder")
        channels = fitted(CHANNELS, grid.layers)
        row = [nn.Linear(width, 256), nn.ReLU(inplace=True), nn.Linear(256, grid.places * channels[-1]), nn.Tanh()]
        opening = ToShape((channels[-1], grid.height, grid.width))
        return nn.Sequential(*row, opening, *upconvolutions(channels, shape, grid, batch_norm=True))
