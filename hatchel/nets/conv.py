"""Convolutional encoders and decoders: the usual pair, RTC-VAE's (Cheng et al., Table 2), spatial broadcast."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.layers import Grid, Headed, ToRow, ToShape, Upconv, fitted, grid_of
from hatchel.nets.part import Decoder, Encoder, Shape


class Conv(Encoder):
    """4x4 convolutions with stride 2 and ReLU down to a 4x4 grid, then fully connected layers.

    With the defaults, at 64 px: 32, 32, 64, 64 channels and 256 units, the net that baselines of the field are usually
    compared on (Kim and Mnih 2018). Images of any size and aspect: as many layers as bring the longer side nearest to
    4, after zeros around an image whose sides do not divide so often (28x28 becomes 32x32).

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
            raise HatchelError("channels: name at least one, e.g. [32,32,64,64]")

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        layers, grid = convolutions(shape, self.channels, "encoder=conv")
        size = grid.places * self.channels[-1]
        for i, units in enumerate(self.hidden, 1):
            # In place, as neither a convolution nor a linear layer needs its own output again: half the memory traffic.
            linear = [nn.Linear(size, units), nn.ReLU(inplace=True)]
            layers[f"hidden{i}"] = nn.Sequential(ToRow(), *linear)
            size = units
        return Headed(layers, nn.Sequential(ToRow(), nn.Linear(size, sum(widths))))


def convolutions(
    shape: Shape, channels: tuple[int, ...], net: str, batch_norm: bool = False
) -> tuple[dict[str, nn.Module], Grid]:
    """The layers conv1, conv2, ... that bring an image down to the grid, and that grid."""
    grid = grid_of(shape, net, "encoder=mlp")
    inputs, layers, padding = shape[0], dict[str, nn.Module](), grid.padding(shape)
    for i, outputs in enumerate(fitted(channels, grid.layers), 1):
        # BatchNorm subtracts the mean, and with it any bias.
        conv = nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=not batch_norm)
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        layers[f"conv{i}"] = nn.Sequential(*padding, conv, *norm, nn.ReLU(inplace=True))
        inputs, padding = outputs, []
    return layers, grid


class Deconv(Decoder):
    """Fully connected layers, then 4x4 transposed convolutions with stride 2 from a 4x4 grid up to the image.

    With the defaults, at 64 px: 256, 4x4x64, then 64, 32, 32 channels and the image's. The last layer has no
    activation: its values are logits or means, for the likelihood to read. Images of any size and aspect, as in the
    encoder: the middle of what the last layer gives.

    >>> net = Deconv().build(10, (1, 64, 64))
    >>> sum(p.numel() for p in net.parameters())
    381313
    """

    channels: tuple[Count, ...] = (32, 32, 64, 64)
    "As the encoder's, from the image's end; smaller images drop from the front, larger ones repeat the first."
    hidden: tuple[Count, ...] = (256,)
    "Sizes of the fully connected layers between the code and the grid."

    def check(self) -> None:
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. [32,32,64,64]")

    def build(self, width: int, shape: Shape) -> nn.Module:
        grid = grid_of(shape, "decoder=deconv", "decoder=mlp_decoder")
        channels = fitted(self.channels, grid.layers)
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise((width, *self.hidden, grid.places * channels[-1])):
            layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        opening = ToShape((channels[-1], grid.height, grid.width))
        return nn.Sequential(*layers, opening, *upconvolutions(channels, shape, grid))


def upconvolutions(channels: tuple[int, ...], shape: Shape, grid: Grid, batch_norm: bool = False) -> list[nn.Module]:
    """The layers from (B, channels[-1], *grid) to (B, *shape), ReLU between them and nothing after the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(channels[::-1]):
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        layers += [Upconv(inputs, outputs, bias=not batch_norm), *norm, nn.ReLU(inplace=True)]
    return [*layers, Upconv(channels[0], shape[0]), *grid.cropping(shape)]


class Rtc(Encoder):
    """Convolutions 32, 64, 64, 64 (4x4, stride 2), a 4x4 one to 512, all ReLU, and a 1x1 one to the latent's numbers.

    On a 4x4 and a 1x1 grid those last convolutions are fully connected layers, and are built as such. The paper prints
    10 outputs for 10 latent dimensions; we use two numbers for each, mean and log-variance.

    >>> sum(p.numel() for p in Rtc().build((1, 64, 64), (2,) * 10).parameters())
    699636
    """

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        grid_of(shape, "encoder=rtc", "encoder=mlp")
        return Conv(channels=(32, 64, 64, 64), hidden=(512,)).build(shape, widths)


class RtcDecoder(Decoder):
    """Transposed convolutions 512 (1x1), 64 (to 4x4), 64, 32, 32 and the image's channels (4x4, stride 2), ReLU.

    The paper prints ReLU after the last layer too; we use none: a logit or mean must be free to be negative.

    >>> sum(p.numel() for p in RtcDecoder().build(10, (1, 64, 64)).parameters())
    645313
    """

    def build(self, width: int, shape: Shape) -> nn.Module:
        grid = grid_of(shape, "decoder=rtc_decoder", "decoder=mlp_decoder")
        channels = fitted((32, 32, 64, 64), grid.layers)
        opening = [
            Upconv(width, 512, kernel=1, stride=1, padding=0),
            nn.ReLU(inplace=True),
            Upconv(512, channels[-1], kernel=(grid.height, grid.width), stride=1, padding=0),
            nn.ReLU(inplace=True),
        ]
        return nn.Sequential(ToShape((width, 1, 1)), *opening, *upconvolutions(channels, shape, grid))


class Broadcast(Decoder):
    """The code at every pixel, beside the pixel's x and y, then convolutions with stride 1 (Watters et al. 2019).

    The code need not draw positions into a grid; it only moves a boundary in the coordinates, which favours codes with
    position in a dimension of their own. Images of any size. The cost is convolutions at full resolution: at 64 px
    forty times the multiplications of the deconv decoder. Edges are padded with zeros, as "same" convolutions do; the
    last layer has no activation: its values are logits or means.
    """

    channels: tuple[Count, ...] = (64, 64, 64)
    "Of the hidden convolutions."
    kernel: Count = 3
    "Side of every kernel; odd, so that the image keeps its size."

    def check(self) -> None:
        if self.kernel % 2 == 0:
            raise HatchelError(f"kernel: must be odd, got {self.kernel}; set {self.kernel + 1}")

    def build(self, width: int, shape: Shape) -> nn.Module:
        if len(shape) != 3:
            raise HatchelError(
                f"decoder=broadcast needs images (channels, height, width); the data have shape {shape}. "
                "Set decoder=mlp_decoder"
            )
        layers: list[nn.Module] = []
        sizes = (width + 2, *self.channels, shape[0])
        for inputs, outputs in itertools.pairwise(sizes):
            layers += [nn.Conv2d(inputs, outputs, self.kernel, padding=self.kernel // 2), nn.ReLU(inplace=True)]
        return nn.Sequential(Tile(shape[1], shape[2]), *layers[:-1])


class Tile(nn.Module):
    """z (B, D) -> (B, D + 2, H, W): z everywhere, then x and y from -1 to 1."""

    grid: Tensor

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
        self.register_buffer("grid", torch.stack((x, y), 2), persistent=False)  # (H, W, 2)

    def forward(self, z: Tensor) -> Tensor:
        tiled = z[:, None, None, :].expand(-1, *self.grid.shape[:2], -1)
        return torch.cat((tiled, self.grid.expand(z.shape[0], -1, -1, -1)), 3).permute(0, 3, 1, 2)
