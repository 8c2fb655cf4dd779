"""The spatial-broadcast decoder."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.part import Decoder, Shape


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
