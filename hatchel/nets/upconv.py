"""The transposed convolution of all decoders, arranged so that no part of it is slow on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

THIN = 8
"""Below so many output channels, as an image has, oneDNN's forward pass is slow: 16 ms for 32 channels to 1 at 64x64,
batch 64, one core, where `Doubling` takes 6."""


class Upconv(nn.Module):
    """A transposed convolution; 4x4, stride 2, padding 1 doubles the side. Initialised as torch does."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int = 4, stride: int = 2, padding: int = 1, bias: bool = True
    ) -> None:
        super().__init__()
        self.stride, self.padding = stride, padding
        self.thin = outputs < THIN and (kernel, stride, padding, bias) == (4, 2, 1, True)
        self.kernels = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) -> (B, outputs, H', W')."""
        weight, bias = self.kernels.weight, self.kernels.bias
        # Mixed precision has its own rules for the gradient's type: left to torch.
        if self.thin and x.device.type == "cpu" and x.dtype == weight.dtype:
            return Doubling.apply(x, weight, bias)  # pyright: ignore[reportReturnType]
        y = F.conv_transpose2d(x, weight, None, self.stride, self.padding)
        # Added apart, because oneDNN's own gradient of this bias takes as long as the rest of the backward pass
        # (32 channels, 32x32, batch 256, 2 cores: 91 ms a step with it, 51 ms without).
        return y if bias is None else y.add_(bias.view(-1, 1, 1))


class Doubling(Function):
    """The 4x4, stride 2, padding 1 case as one 2x2 convolution to four times the channels, one set for each parity.

    Along one axis y[2i] = x[i-1] w[3] + x[i] w[1] and y[2i+1] = x[i] w[2] + x[i+1] w[0]: parity a of output 2i + a is
    the 2-tap kernel (w[3-a], w[1-a]) at place i + a of x padded by one. The backward pass is the usual one.
    """

    generate_vmap_rule = True

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
        """Keep what the gradient needs."""
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """By torch's own operator, which has a derivative of its own: second derivatives work."""
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        wanted = (ctx.needs_input_grad[0], ctx.needs_input_grad[1], False)
        to_x, to_weight, _ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, (2, 2), (1, 1), (1, 1), True, (0, 0), 1, wanted
        )
        return to_x, to_weight, gradient.sum((0, 2, 3)) if ctx.needs_input_grad[2] else None
