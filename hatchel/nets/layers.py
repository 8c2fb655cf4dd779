"""Layers that the networks share: the 4x4 grid, transposed convolutions, named layers in a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.nets.part import Classes, Encoded, Shape

GRID = 4
"""Side of the grid that stride-2 convolutions bring a square image of 16, 32, 64, ... pixels down to."""


class Grid(NamedTuple):
    """The map between convolutions and rows: so many stride-2 layers away from the image, so high and wide."""

    layers: int
    height: int
    width: int

    @classmethod
    def after(cls, layers: int, shape: Shape) -> Grid:
        """What so many layers make of an image."""
        height, width = (-(-side >> layers) for side in shape[1:])
        return cls(layers, height, width)

    @property
    def places(self) -> int:
        return self.height * self.width

    def padding(self, shape: Shape) -> list[nn.Module]:
        """What brings an image to the grid's size doubled once a layer: zeros around it, or nothing where it fits."""
        return self._moved(shape, 1)

    def cropping(self, shape: Shape) -> list[nn.Module]:
        """The way back: the middle of what the last layer gives."""
        return self._moved(shape, -1)

    def _moved(self, shape: Shape, sign: int) -> list[nn.Module]:
        x, y = (self.width << self.layers) - shape[2], (self.height << self.layers) - shape[1]
        sides = (sign * (x // 2), sign * (x - x // 2), sign * (y // 2), sign * (y - y // 2))
        return [nn.ZeroPad2d(sides)] if any(sides) else []


def grid_of(shape: Shape, net: str, instead: str) -> Grid:
    """Stride-2 layers that bring the longer side nearest to 4, and the map they end in; 4x4 for 16, 32, 64, ... pixels.

    Images of other sizes are padded with zeros to a multiple of 2^layers. An error names `net` and `instead`.

    >>> grid_of((1, 64, 64), "encoder=conv", "encoder=mlp")
    Grid(layers=4, height=4, width=4)
    >>> grid_of((3, 48, 64), "encoder=conv", "encoder=mlp"), grid_of((1, 28, 28), "encoder=conv", "encoder=mlp")
    (Grid(layers=4, height=3, width=4), Grid(layers=3, height=4, width=4))
    """
    if len(shape) != 3:
        raise HatchelError(f"{net} needs images (channels, height, width); the data have shape {shape}. Set {instead}")
    short, long = sorted(shape[1:])
    # A strip is not padded beyond the next power of two.
    layers = max(1, min(round(math.log2(long / GRID)), (short - 1).bit_length()))
    return Grid.after(layers, shape)


def convolvable(shape: Shape) -> bool:
    """Whether a convolutional net is the choice where none is named: images from 16 pixels."""
    return len(shape) == 3 and max(shape[1:]) >= 4 * GRID


def fitted(channels: tuple[int, ...], layers: int) -> tuple[int, ...]:
    """`channels` for so many layers, counted from the grid's end: small images drop the first, large ones repeat it.

    >>> fitted((32, 32, 64, 64), 2), fitted((32, 32, 64, 64), 5)
    ((64, 64), (32, 32, 32, 64, 64))
    """
    return (channels[0],) * (layers - len(channels)) + channels[max(0, len(channels) - layers) :]


class ToRow(nn.Module):
    """(B, C, H, W) -> (B, HWC), rows pass unchanged. Channels go last: a channels_last image is not copied."""

    def forward(self, x: Tensor) -> Tensor:
        return (x.permute(0, 2, 3, 1) if x.ndim == 4 else x).flatten(1)


class ToShape(nn.Module):
    """(B, HWC) -> (B, C, H, W), the inverse of `ToRow`: the image is channels_last without a copy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, row: Tensor) -> Tensor:
        if len(self.shape) != 3:
            return row.unflatten(1, self.shape)
        channels, height, width = self.shape
        return row.unflatten(1, (height, width, channels)).permute(0, 3, 1, 2)


THIN = 8
"""Below so many output channels, as an image has, oneDNN's forward pass is slow: 16 ms for 32 channels to 1 at 64x64,
batch 64, one core, where `Doubling` takes 6."""


def transformed(x: Tensor) -> bool:
    """Whether torch.func or torch's compiler is at work on it: memory can then not be laid out by hand."""
    return torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(x)  # pyright: ignore


class Upconv(nn.Module):
    """A transposed convolution; 4x4, stride 2, padding 1 doubles the side. Initialised as torch does."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int] = 4,
        stride: int = 2,
        padding: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.stride, self.padding = stride, padding
        self.thin = outputs < THIN and (kernel, stride, padding, bias) == (4, 2, 1, True)
        self.kernels = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        # Under mixed precision in the type of the input: a sum of two types is made by way of copies.
        weight, bias = (None if p is None else p.to(x.dtype) for p in (self.kernels.weight, self.kernels.bias))
        assert weight is not None
        if self.thin and x.device.type == "cpu" and not transformed(x):
            return Doubling.apply(x, weight, bias)  # pyright: ignore[reportReturnType]
        if x.shape[2:] == (1, 1) and self.padding == 0:  # a linear layer, and faster as one
            row = x.flatten(1) @ weight.permute(0, 2, 3, 1).flatten(1)
            y = row.unflatten(1, (*weight.shape[2:], -1)).permute(0, 3, 1, 2)
        else:
            y = F.conv_transpose2d(x, weight, None, self.stride, self.padding)
        # Added apart, because oneDNN's own gradient of this bias takes as long as the rest of the backward pass
        # (32 channels, 32x32, batch 256, 2 cores: 91 ms a step with it, 51 ms without).
        return y if bias is None else y.add_(bias.to(y.dtype).view(-1, 1, 1))


class Doubling(Function):
    """The 4x4, stride 2, padding 1 case as one 2x2 convolution to four times the channels, one set for each parity.

    Along one axis y[2i] = x[i-1] w[3] + x[i] w[1] and y[2i+1] = x[i] w[2] + x[i+1] w[0]: parity a of output 2i + a is
    the 2-tap kernel (w[3-a], w[1-a]) at place i + a of x padded by one. The backward pass is the usual one.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """x (B, I, H, W), weight (I, O, 4, 4), bias (O,) -> (B, O, 2H, 2W), channels_last."""
        (batch, inputs, height, width), outputs = x.shape, weight.shape[1]
        taps = weight.flip(2, 3).reshape(inputs, outputs, 2, 2, 2, 2)  # (I, O, tap y, parity y, tap x, parity x)
        kernels = taps.permute(3, 5, 1, 0, 2, 4).reshape(4 * outputs, inputs, 2, 2)
        y = F.conv2d(x, kernels.contiguous(memory_format=torch.channels_last), bias.repeat(4), padding=1)
        y = y.permute(0, 2, 3, 1).unflatten(3, (2, 2, outputs))  # (B, H + 1, W + 1, parity y, parity x, O)
        # Strides of channels_last, given outright: what follows could not change a permuted view in place.
        rows, columns = 2 * height, 2 * width
        strides = (rows * columns * outputs, 1, columns * outputs, outputs)
        image = x.new_empty_strided((batch, outputs, rows, columns), strides)
        for a in (0, 1):
            for b in (0, 1):
                image[:, :, a::2, b::2] = y[:, a : height + a, b : width + b, a, b].permute(0, 3, 1, 2)
        return image

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        # By torch's own operator, which has a derivative of its own: second derivatives work.
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        wanted = (ctx.needs_input_grad[0], ctx.needs_input_grad[1], False)
        to_x, to_weight, _ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, (2, 2), (1, 1), (1, 1), True, (0, 0), 1, wanted
        )
        return to_x, to_weight, gradient.sum((0, 2, 3)) if ctx.needs_input_grad[2] else None


class Stack(nn.Module):
    """Layers in a row that can be asked for by name."""

    def __init__(self, layers: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(dict(layers))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features: dict[str, Tensor] = {}
        for name, layer in self.layers.items():
            x = layer(x)
            features[name] = x
        return features


class Headed(nn.Module):
    """A stack whose last layer gives the parameters of every site."""

    def __init__(self, layers: Mapping[str, nn.Module], head: nn.Module) -> None:
        super().__init__()
        self.stack = Stack(layers)
        self.head = head

    def forward(self, x: Tensor) -> Encoded:
        features = self.stack(x)
        return Encoded(self.head(next(reversed(features.values()), x)), features)


class Branched(nn.Module):
    """A stack whose last layer gives the real sites; the one before gives the discrete ones."""

    index: Tensor

    def __init__(
        self,
        layers: Mapping[str, nn.Module],
        sizes: tuple[int, int],  # values in the last layer but one, and in the last
        widths: tuple[int, ...],
        halves: bool = False,  # whether means read half of the last layer, and log-variances the other
    ) -> None:
        super().__init__()
        *trunk, before, last = layers
        others = sum(w for w in widths if isinstance(w, Classes))
        # Without a real site nothing would read the last layer.
        names = [*trunk, before, last] if others < sum(widths) else [*trunk, before]
        self.stack = Stack({name: layers[name] for name in names})
        self.before, self.last = before, last
        self.side = nn.Sequential(ToRow(), nn.Linear(sizes[0], others)) if others else None
        real = tuple(w for w in widths if not isinstance(w, Classes))
        self.head = (Halves(sizes[1] // 2, real) if halves else nn.Linear(sizes[1], sum(real))) if real else None
        self.register_buffer("index", _order(widths, others), persistent=False)

    def forward(self, x: Tensor) -> Encoded:
        features = self.stack(x)
        parts: list[Tensor] = []
        if self.side is not None:
            parts.append(self.side(features[self.before]))
        if self.head is not None:
            parts.append(self.head(features[self.last]))
        return Encoded(torch.cat(parts, 1).index_select(1, self.index), features)


class Halves(nn.Module):
    """Two linear maps of a row's halves: one gives each site's even numbers (means), one its odd ones."""

    index: Tensor

    def __init__(self, size: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        odd = [place % 2 for width in widths for place in range(width)]
        self.mean, self.spread = nn.Linear(size, odd.count(0)), nn.Linear(size, odd.count(1))
        # Where each number stands when those of the first half come first.
        places = torch.tensor(odd).argsort(stable=True).argsort()
        self.register_buffer("index", places, persistent=False)

    def forward(self, row: Tensor) -> Tensor:
        first, second = row.chunk(2, 1)
        return torch.cat([self.mean(first), self.spread(second)], 1).index_select(1, self.index)


def _order(widths: tuple[int, ...], others: int) -> Tensor:
    """Where each site's numbers stand when those of the side branch come first."""
    side, head = 0, others
    order: list[int] = []
    for width in widths:
        discrete = isinstance(width, Classes)
        start = side if discrete else head
        order.extend(range(start, start + width))
        head, side = (head, side + width) if discrete else (head + width, side)
    return torch.tensor(order)
