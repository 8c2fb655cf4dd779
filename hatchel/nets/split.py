"""The split encoder: a trunk for all, then a branch for each latent site."""

from __future__ import annotations

from torch import nn

from hatchel.errors import HatchelError
from hatchel.nets.conv import convolutions
from hatchel.nets.grid import GRID
from hatchel.nets.group import Branches
from hatchel.nets.part import Encoder, Shape
from hatchel.nets.stack import Headed
from hatchel.spec import Count


class Split(Encoder):
    """The convolutions of `conv` but the last; then for each site one convolution and two fully connected layers.

    "Split encoder" (paper 002, section 3.2, Fig. 1): more than one layer in which sites share no parameters, at the
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
        """At least one convolution in the trunk."""
        if not self.channels:
            raise HatchelError("channels: name at least one, e.g. 32,32,64")

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        """Features: conv1, conv2, ... of the trunk."""
        layers, _ = convolutions(shape, (*self.channels, self.channels[-1]), "encoder=split")
        layers.popitem()  # its place is in the branches
        trunk = (self.channels[-1], 2 * GRID, 2 * GRID)
        head = Branches(trunk, widths, channels=self.branch_channels, hidden=self.hidden)
        return Headed(layers, head)
