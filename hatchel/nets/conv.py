"""Convolutional encoder and decoder, and the 4x4 grid between images and rows."""

from __future__ import annotations

import itertools

from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.layers import GRID, Headed, ToRow, ToShape, Upconv, fitted, halvings
from hatchel.nets.part import Decoder, Encoder, Shape


class Conv(Encoder):
    """4x4 convolutions with stride 2 and ReLU down to a 4x4 grid, then fully connected layers.

    With the defaults, at 64 px: 32, 32, 64, 64 channels and 256 units, the net that baselines of the field are usually
    compared on (Kim and Mnih 2018). Any power-of-two side from 16: as many layers as reach 4x4.

    >>> net = Conv().build((1, 64, 64), (2,) * 10)
    >>> sum(p.numel() for p in net.parameters())
    382932
    """

    channels: tuple[Count, ...] = (32, 32, 64, 64)
    "Of the convolutions, at 64 px; smaller images drop from the front, larger ones repeat the first."
    hidden: tuple[Count, ...] = (256,)
    "Sizes of the fully connected layers between the convolutions and the latent's numbers."

    def check(self) -> None:
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. 32,32,64,64")

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        layers, size = convolutions(shape, self.channels, "encoder=conv")
        for i, units in enumerate(self.hidden, 1):
            # In place, as neither a convolution nor a linear layer needs its own output again: half the memory traffic.
            linear = [nn.Linear(size, units), nn.ReLU(inplace=True)]
            layers[f"hidden{i}"] = nn.Sequential(ToRow(), *linear)
            size = units
        return Headed(layers, nn.Sequential(ToRow(), nn.Linear(size, sum(widths))))


def convolutions(
    shape: Shape, channels: tuple[int, ...], net: str, batch_norm: bool = False
) -> tuple[dict[str, nn.Module], int]:
    """The layers conv1, conv2, ... that bring an image down to 4x4, and how many values that leaves."""
    depth = halvings(shape, net, "encoder=mlp")
    inputs, layers = shape[0], dict[str, nn.Module]()
    for i, outputs in enumerate(fitted(channels, depth), 1):
        # BatchNorm subtracts the mean, and with it any bias.
        conv = nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=not batch_norm)
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        layers[f"conv{i}"] = nn.Sequential(conv, *norm, nn.ReLU(inplace=True))
        inputs = outputs
    return layers, inputs * GRID * GRID


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
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. 32,32,64,64")

    def build(self, width: int, shape: Shape) -> nn.Module:
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
