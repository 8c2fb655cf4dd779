"""Networks side by side, each with parameters of its own, all run at once: no loop over them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.nets.part import Shape


def convolution(inputs: int, outputs: int, groups: int = 1) -> nn.Sequential:
    """4x4, stride 2, padding 1, ReLU: the side is halved, an odd one rounded down."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, groups=groups), nn.ReLU(inplace=True))


class GroupedConv(nn.Module):
    """G convolutions 4x4, stride 2, padding 1, ReLU, on G slices of the channels: (B, G * inputs, H, W).

    Its weights, flattened, keep their order when a model is moved to channels_last: routed features come as one row
    for each group, and turning every one of them over costs more than oneDNN gains by it.
    """

    def __init__(self, groups: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(16 * inputs)
        self.weight = nn.Parameter(torch.empty(groups, outputs, 16 * inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(groups, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.flatten(0, 1).unflatten(1, (-1, 4, 4))
        return F.conv2d(x, weight, self.bias.flatten(), stride=2, padding=1, groups=len(self.weight)).relu_()


class GroupedLinear(nn.Module):
    """G linear layers in one batched product: (G, B, inputs) -> (G, B, outputs). Initialised as torch does."""

    def __init__(self, groups: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(groups, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(groups, 1, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class Readout(nn.Module):
    """The last linear layer of G branches, of which each gives the numbers of `together` sites in a row.

    Sites may want different numbers of numbers, so every number has a row of weights of its own.
    """

    branch: Tensor

    def __init__(self, inputs: int, widths: tuple[int, ...], together: int = 1) -> None:
        super().__init__()
        owners = [site // together for site, width in enumerate(widths) for _ in range(width)]
        self.register_buffer("branch", torch.tensor(owners), persistent=False)
        self.numbers = GroupedLinear(len(owners), inputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.numbers(x.index_select(0, self.branch)).squeeze(2).T


class Branches(nn.Module):
    """For each branch one convolution and two fully connected layers, with no parameter in common.

    Either all branches read the same feature map, or each its own slice of the channels.
    """

    def __init__(
        self,
        shape: Shape,  # (C, H, W) of what one branch reads
        widths: tuple[int, ...],
        *,
        channels: int,
        hidden: int,
        together: int = 1,
        own: bool = False,
    ) -> None:
        super().__init__()
        inputs, height, width = shape
        self.branches = branches_of(widths, together)
        count = self.branches
        self.conv = GroupedConv(count, inputs, channels) if own else convolution(inputs, channels * count)
        self.hidden = GroupedLinear(self.branches, channels * (height // 2) * (width // 2), hidden)
        self.last = Readout(hidden, widths, together)

    def forward(self, x: Tensor) -> Tensor:
        maps = self.conv(x).unflatten(1, (self.branches, -1))  # (B, branches, channels, H/2, W/2)
        rows = maps.permute(1, 0, 3, 4, 2).flatten(2)  # channels go last
        return self.last(self.hidden(rows).relu())


def branches_of(widths: tuple[int, ...], together: int) -> int:
    """How many branches serve these sites."""
    return math.ceil(len(widths) / together)


def image_shape(shape: Shape, halvings: int, net: str) -> Shape:
    """The shape, if it is an image large enough to be halved so often."""
    if len(shape) != 3:
        raise HatchelError(
            f"{net} needs images (channels, height, width); the data have shape {shape}. Set encoder=mlp"
        )
    smallest = 1 << halvings
    if min(shape[1:]) < smallest:
        raise HatchelError(
            f"{net} needs images of at least {smallest}x{smallest}; these are {shape[1]}x{shape[2]}. Set encoder=mlp"
        )
    return shape
