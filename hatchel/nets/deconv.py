"""The field's usual decoder: the convolutional encoder, mirrored."""

from __future__ import annotations

import itertools

from torch import nn

from hatchel.errors import HatchelError
from hatchel.nets.grid import GRID, ToShape, fitted, halvings
from hatchel.nets.part import Decoder, Shape
from hatchel.nets.upconv import Upconv
from hatchel.spec import Count


class Deconv(Decoder):
    """Fully connected layers, then 4x4 transposed convolutions with stride 2 from a 4x4 grid up to the image.

    With the defaults, at 64 px: 256, 4x4x64, then 64, 32, 32 channels and the image's. The last layer has no
    activation: its values are logits or means, for the likelihood to read.

    >>> net = Deconv().build(10, (1, 64, 64))
    >>> sum(p.numel() for p in net.parameters())
    381313
    """

    channels: tuple[Count, ...] = (32, 32, 64, 64)
    "As the encoder's, from the image's end; smaller images drop from the front, larger ones repeat the first."
    hidden: tuple[Count, ...] = (256,)
    "Sizes of the fully connected layers between the code and the 4x4 grid."

    def check(self) -> None:
        """At least one channel count."""
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. 32,32,64,64")

    def build(self, width: int, shape: Shape) -> nn.Module:
        """z (B, width) -> (B, C, H, W)."""
        depth = halvings(shape, "decoder=deconv", "decoder=mlp_decoder")
        channels = fitted(self.channels, depth)
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise((width, *self.hidden, GRID * GRID * channels[-1])):
            layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, ToShape((channels[-1], GRID, GRID)), *upconvolutions(channels, shape))


def upconvolutions(channels: tuple[int, ...], shape: Shape, batch_norm: bool = False) -> list[nn.Module]:
    """The layers from (B, channels[-1], 4, 4) to (B, *shape), ReLU between them and nothing after the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(channels[::-1]):
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        layers += [Upconv(inputs, outputs, bias=not batch_norm), *norm, nn.ReLU(inplace=True)]
    return [*layers, Upconv(channels[0], shape[0])]
