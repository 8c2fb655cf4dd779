"""Encoders by coordinate: a branch for each (Split Encoder), or parameters shared on purpose."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.conv import convolutions
from hatchel.nets.group import Branches, convolution
from hatchel.nets.layers import Grid, Headed, fitted, grid_of
from hatchel.nets.part import Encoder, Shape


class Split(Encoder):
    """The convolutions of `conv` but the last; then for each site one convolution and two fully connected layers.

    "Split encoder" (Sec. 3.2, Fig. 1): more than one layer in which sites share no parameters, at the
    depth of the plain encoder. The paper does not print the branches' sizes; ours are half of the plain encoder's.

    >>> net = Split().build((1, 64, 64), (2,) * 10)
    >>> sum(p.numel() for p in net.parameters())
    1037012
    """

    channels: tuple[Count, ...] = (32, 32, 64)
    "Of the trunk's convolutions, at 64 px; smaller images drop from the front, larger ones repeat the first."
    branch_channels: Count = 32
    "Of each branch's convolution."
    hidden: Count = 128
    "Units of each branch's fully connected layer."

    def check(self) -> None:
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. [32,32,64]")

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        layers, grid = convolutions(shape, (*self.channels, self.channels[-1]), "encoder=split")
        layers.popitem()  # its place is in the branches
        if not layers:
            raise HatchelError(f"encoder=split needs images from 12 pixels; these have shape {shape}. Set encoder=mlp")
        trunk = (self.channels[-1], 2 * grid.height, 2 * grid.width)
        head = Branches(trunk, widths, channels=self.branch_channels, hidden=self.hidden)
        return Headed(layers, head)


class Sharing(Encoder):
    """Convolutions alone; the places of the last feature map are the sites, its channels their numbers.

    "Sharing-parameter encoder" (Split Encoder, Sec. 5.2.1): two channels, mean and log-variance, flattened into the
    latents, so that all sites are read by the same filters: a violation of conditional independence, made on purpose.
    The map is the smallest with a place for every site, at least 4x4; where it has more places than sites, neighbours
    in the flattened map are averaged (with 16 sites none are).

    >>> net = Sharing().build((1, 64, 64), (2,) * 16)
    >>> sum(p.numel() for p in net.parameters())
    51842
    """

    channels: tuple[Count, ...] = (32, 32, 64)
    "Of the convolutions but the last, at 64 px; smaller images drop from the front, larger ones repeat the first."

    def check(self) -> None:
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. [32,32,64]")

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        grid = grid_of(shape, "encoder=sharing", "encoder=mlp")
        while grid.places < len(widths) and grid.layers > 1:
            grid = Grid.after(grid.layers - 1, shape)
        if grid.places < len(widths):
            raise HatchelError(
                f"encoder=sharing has places for {grid.places} sites in these images, not {len(widths)}. "
                f"Set latent.dim={grid.places} or less"
            )
        inputs, layers, padding = shape[0], dict[str, nn.Module](), grid.padding(shape)
        for i, outputs in enumerate(fitted(self.channels, grid.layers - 1) if grid.layers > 1 else (), 1):
            layers[f"conv{i}"] = nn.Sequential(*padding, *convolution(inputs, outputs))
            inputs, padding = outputs, []
        last = nn.Conv2d(inputs, max(widths), 4, stride=2, padding=1)
        return Headed(layers, nn.Sequential(*padding, last, _Places(widths)))


class _Places(nn.Module):
    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.sites = len(widths)
        # A site with fewer numbers than the widest has leaves the last channels at its place unread.
        self.read = [s * max(widths) + c for s, width in enumerate(widths) for c in range(width)]

    def forward(self, maps: Tensor) -> Tensor:
        places = F.adaptive_avg_pool1d(maps.flatten(2), self.sites)  # (B, channels, sites)
        return places.transpose(1, 2).flatten(1)[:, self.read]
