"""The two families of networks: encoders (data to parameters of q(z|x)) and decoders (z to parameters of p(x|z))."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hatchel.core.spec import Spec

Shape = tuple[int, ...]
"""Of one item: (C, H, W) for images, (F,) for the rows of a table."""


class Classes(int):
    """The width of a discrete site: one parameter per class. A plain int is that of a site with real coordinates.

    >>> sum((2, 2, Classes(2))), isinstance(Classes(2), Classes)
    (6, True)
    """


class Encoded(NamedTuple):
    """What an encoder's module returns."""

    parameters: Tensor  # (B, sum(widths)), laid out site by site: site 0's first
    features: dict[str, Tensor]  # named inner layers, first axis B; empty where an encoder has nothing to show


class Encoder(Spec, ABC, family="encoder", home="hatchel.nets"):
    """Turns data into the parameters of q(z|x)."""

    @abstractmethod
    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        """A module x (B, *shape) -> Encoded, with `widths[s]` parameters for latent site s.

        A Gaussian coordinate has width 2, a variable of K classes `Classes(K)`.
        """


def feature_shapes(encoder: nn.Module, shape: Shape) -> dict[str, Shape]:
    """The shape of each feature that an encoder's module gives for one item, found by encoding zeros."""
    training = encoder.training
    with torch.no_grad():
        encoded: Encoded = encoder.eval()(torch.zeros(1, *shape))
    encoder.train(training)
    return {name: tuple(feature.shape[1:]) for name, feature in encoded.features.items()}


class Decoder(Spec, ABC, family="decoder", home="hatchel.nets"):
    """Turns a latent code into one number (a logit or a mean) per data value."""

    @abstractmethod
    def build(self, width: int, shape: Shape) -> nn.Module:
        """A module z (B, width) -> (B, *shape)."""
