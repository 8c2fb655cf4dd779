"""The family of latents: how the encoder's numbers become q(z|x), and what the prior is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from hatchel.spec import Spec
from hatchel.trace import Posterior


class LatentModule(nn.Module, ABC):
    """The running form of a latent; it may own parameters (a learned prior)."""

    @abstractmethod
    def posterior(self, parameters: Tensor) -> Posterior:
        """q(z|x) from the encoder's numbers (B, sum(widths))."""


class Latent(Spec, ABC, family="latent", home="hatchel.latents"):
    """What a code is made of."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """How many numbers the encoder gives for each site."""

    @property
    @abstractmethod
    def width(self) -> int:
        """D, how many numbers a code has: what the decoder reads."""

    @abstractmethod
    def build(self) -> LatentModule:
        """The module that makes posteriors."""
