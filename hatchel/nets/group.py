"""Networks side by side, each with parameters of its own, all run at once: no loop over them."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.nets.layers import transformed
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
        self.winograd = Winograd(count) if not own and (height, width) == (8, 8) else None

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.hidden(self._rows(x)).relu())

    def _rows(self, x: Tensor) -> Tensor:
        """What the convolutions give, (branches, B, H/2 * W/2 * channels)."""
        if self.winograd is not None and self.training and Winograd.pays(x):
            first = self.conv.get_submodule("0")
            assert isinstance(first, nn.Conv2d)
            return self.winograd(x, first.weight, first.bias).relu_()
        maps = self.conv(x).unflatten(1, (self.branches, -1))  # (B, branches, channels, H/2, W/2)
        return maps.permute(1, 0, 3, 4, 2).flatten(2)  # channels go last


class Winograd(nn.Module):
    """Convolutions 4x4, stride 2, padding 1 from 8x8 to 4x4 by 25 products in place of 64 (Winograd 1980, Chap. V).

    Taken apart by the parity of rows and of columns, such a convolution is a sum of four 2x2 ones with stride 1. Along
    one axis 4 outputs of a 2-tap filter are the coefficients of a product of polynomials, transposed, and 5 values of
    the factors at 0, 1, -1, 2 and infinity determine it: y = A^T (G w * B^T x).
    """

    to_x: Tensor
    to_w: Tensor
    to_y: Tensor

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups
        points = torch.tensor([0.0, 1, -1, 2], dtype=torch.float64)

        def values(length: int) -> Tensor:
            """Of a polynomial with so many coefficients: (5, length)."""
            return torch.cat([torch.vander(points, length, increasing=True), torch.eye(length)[-1:].double()])

        padded = torch.zeros(5, 2, 10, dtype=torch.float64)  # (point, parity, place)
        for parity in (0, 1):
            padded[:, parity, parity::2] = torch.linalg.inv(values(5)).T
        x, w, y = padded[:, :, 1:-1], values(2), values(4).T
        both = {
            "to_x": torch.einsum("pah,qbw->pqabhw", x, x).reshape(100, 64),
            "to_w": torch.einsum("ps,qt->pqst", w, w).reshape(25, 4),
            "to_y": torch.einsum("ip,jq->ijpq", y, y).reshape(16, 25),
        }
        for name, matrix in both.items():
            self.register_buffer(name, matrix.float(), persistent=False)

    @staticmethod
    def pays(x: Tensor) -> bool:
        """Whether it is faster for this input: oneDNN's forward pass alone is as fast, and eight bits are too few."""
        exact = x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        exact = exact and not transformed(x)
        return exact and x.requires_grad and x.device.type == "cpu" and len(x) >= 32

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """(B, C, 8, 8), as of Conv2d -> (groups, B, 16 * channels of a group)."""
        outputs, inputs = weight.shape[:2]
        v = (self.to_x @ x.permute(0, 2, 3, 1).flatten(1, 2)).view(-1, 25, 4 * inputs).transpose(0, 1)
        taps = weight.permute(0, 2, 3, 1).reshape(outputs, 2, 2, 2, 2, inputs).permute(1, 3, 0, 2, 4, 5)
        m = cast(Tensor, _Products.apply(v, taps.reshape(4, outputs, 4 * inputs), self.to_w))  # (25, B, outputs)
        y = (self.to_y @ m.flatten(1)).view(16, -1, self.groups, outputs // self.groups)
        return (y.permute(2, 1, 0, 3) + bias.view(self.groups, 1, 1, -1)).flatten(2)


class _Products(Function):
    """v_p (sum_k to_w_pk taps_k)^T for every p; the sums, 8 MB, are kept and never turned over, as autograd would."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, taps: Tensor, to_w: Tensor) -> Tensor:
        w = (to_w @ taps.flatten(1)).unflatten(1, taps.shape[1:])
        ctx.save_for_backward(v, w, to_w)
        return v @ w.mT

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (v, w, to_w), (gradient,) = ctx.saved_tensors, gradients
        to_sums = gradient.mT @ v
        return gradient @ w, (to_w.T @ to_sums.flatten(1)).unflatten(1, w.shape[1:]), None


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
