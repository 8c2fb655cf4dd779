"""The encoder and decoder of RTC-VAE (Cheng et al., Revisiting Factorizing Aggregated Posterior), their Table 2."""

from __future__ import annotations

from torch import nn

from hatchel.nets.conv import Conv, upconvolutions
from hatchel.nets.layers import ToShape, Upconv, fitted, grid_of
from hatchel.nets.part import Decoder, Encoder, Shape


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
