"""p(x|z): what the decoder's output says about the data."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from hatchel.spec import Spec


class LikelihoodModule(nn.Module, ABC):
    """The running form of a likelihood; it may own parameters (a learned scale)."""

    @abstractmethod
    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        """log p(x|z) in nats, summed over all values of an item: (B,)."""

    @abstractmethod
    def mean(self, output: Tensor) -> Tensor:
        """E[x|z], in the data's own units: (B, *shape)."""


class Likelihood(Spec, ABC, family="likelihood", home="hatchel.likelihoods"):
    """How a decoder's output is read."""

    @abstractmethod
    def build(self) -> LikelihoodModule:
        """The module that evaluates it."""
