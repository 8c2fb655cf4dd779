"""The family of latents: how the encoder's numbers become q(z|x), and what the prior is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec
from hatchel.latents.posterior import Posterior
from hatchel.nets.part import Shape


class Drawn(NamedTuple):
    """Codes of a prior."""

    code: Tensor  # (B, D)
    read: Tensor  # (B, decoder_width): what a decoder makes an item from
    entropy: float
    """Of the code, in nats."""


class LatentModule(nn.Module, ABC):
    """The running form of a latent; it may own parameters (a learned prior, the maps of a hierarchy)."""

    levels: int = 1
    """Latent spaces of a hierarchy; 1 where there is none."""
    transforms: bool = False
    """Whether the decoder reads something that is made of z, in place of z."""
    generates: bool = False
    """Whether it can draw codes for a generator."""

    @abstractmethod
    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> Posterior:
        """q(z|x) from the encoder's numbers (B, sum(widths)), at a level of the hierarchy.

        `step` drives schedules, such as a temperature's; None is where they end.
        """

    def bind_encoder(self, encoder: nn.Module, shape: Shape) -> None:
        """Called once, when a model is built: for a latent whose prior the encoder makes."""
        return

    def draw_level(self, seed: int, step: int) -> int:
        """The level that a training step works on, the same on all ranks."""
        return 0

    def refine(self, q: Posterior, log_px: Callable[[Tensor], Tensor], step: int | None) -> Posterior:
        """q with what can be found only by trying the decoder, log p(x|code) for any code (B, D): mostly nothing."""
        return q

    def sample_prior(self, rows: int, seed: int, step: int) -> Drawn:
        """Codes of the prior, this rank's rows of them."""
        raise HatchelError("this latent draws no codes for a generator; set latent=code_noise")

    def decoder_input(self, z: Tensor, level: int) -> Tensor:
        """What the decoder reads, (B, decoder_width): z, and what tells it the level."""
        return z


class Latent(Spec, ABC, family="latent", home="hatchel.latents"):
    """What a code is made of."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """How many numbers the encoder gives for each site."""

    @property
    @abstractmethod
    def width(self) -> int:
        """D, how many numbers a code has."""

    @property
    def decoder_width(self) -> int:
        """How many numbers the decoder reads: the code's, unless a latent adds some."""
        return self.width

    @abstractmethod
    def build(self) -> LatentModule:
        """The module that makes posteriors."""
