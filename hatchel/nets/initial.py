"""Initial weights: those that torch gives its layers, or He's, with which deep networks of ReLUs learn sooner."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from hatchel.nets.group import GroupedConv, GroupedLinear

Initial = Literal["torch", "he"]
LAYERS = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d, GroupedLinear, GroupedConv)
LAST = 0.1
"""Variance times inputs in the last layer of a network: codes and logits begin near 0."""


def he(net: nn.Module) -> None:
    """Weights of variance 2 / inputs, biases 0 (He et al. 2015, Eq. 10): neither signals nor gradients fade with depth.

    torch's own, 1 / (3 inputs), lets a layer pass a sixth of the variance, a transposed convolution less still.
    The last layer, without a ReLU behind it, has the variance 0.1 / inputs (ours).
    """
    layers = [layer for layer in net.modules() if isinstance(layer, LAYERS)]
    with torch.no_grad():
        for layer in layers:
            gain = LAST if layer is layers[-1] else 2.0
            layer.weight.normal_(0.0, (gain / inputs(layer)) ** 0.5)
            if layer.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]
                layer.bias.zero_()


def inputs(layer: nn.Module) -> float:
    """How many numbers one output of the layer adds up.

    >>> [inputs(layer) for layer in (nn.Linear(5, 7), nn.Conv2d(3, 8, 4), nn.ConvTranspose2d(8, 3, 4, stride=2))]
    [5, 48, 32]
    """
    weight = layer.weight
    assert isinstance(weight, torch.Tensor)
    if isinstance(layer, nn.ConvTranspose2d):  # of the kernel's numbers, every stride-th meets an output
        return layer.in_channels * weight[0, 0].numel() // (layer.stride[0] * layer.stride[1])
    if isinstance(layer, GroupedLinear):
        return weight.shape[1]
    return weight[0, 0].numel() if isinstance(layer, GroupedConv) else weight[0].numel()
