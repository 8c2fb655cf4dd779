"""The family of latents: how the encoder's output becomes q(z|x), and what the prior is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from hatchel.core.spec import Spec
from hatchel.latents.layout import Layout
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior
from hatchel.nets.part import Classes, Shape


class LatentModule(nn.Module, ABC):
    """The running form of a latent; it may own parameters (a learned prior, the maps of a hierarchy)."""

    solves_on_host: ClassVar[bool] = False
    """Whether a training step solves something outside of torch, so that its loss cannot be compiled as a whole."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout

    @abstractmethod
    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> Posterior:
        """q(z|x) from the parameters that the encoder gives, (B, sum(widths)), at a level of the hierarchy.

        `step` drives schedules, such as a temperature's; None is where they end.
        """

    @abstractmethod
    def prior_at(self, step: int | None = None) -> Prior:
        """p(z), at all levels the same."""

    def bind_encoder(self, encoder: nn.Module, shape: Shape) -> None:
        """Called once, when a model is built: for a latent whose prior the encoder makes."""
        return

    def draw_level(self, seed: int, step: int) -> int:
        """A level for a training step, the same on all ranks."""
        return 0

    def train_levels(self, seed: int, step: int) -> tuple[int, ...]:
        """The levels that a training step works on: by default the one that is drawn."""
        return (self.draw_level(seed, step),)

    def refine(self, q: Posterior, log_px: Callable[[Tensor], Tensor], step: int | None) -> Posterior:
        """q with what can be found only by trying the decoder, log p(x|code) for any code (B, D): mostly nothing."""
        return q

    def decoder_input(self, z: Tensor, level: int, noise: torch.Generator | None = None) -> Tensor:
        """What the decoder reads, (B, decoder_width): z, and what tells it the level.

        `noise`: for draws of the prior, where a latent has noise that no encoder gives; without, that is 0.
        """
        return z


class Latent(Spec, ABC, family="latent", home="hatchel.latents"):
    """What a code is made of."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Its sites."""

    @property
    def widths(self) -> tuple[int, ...]:
        """How many parameters the encoder gives for each site: mean and log-variance, or a logit for each class."""
        return tuple(Classes(site.classes) if site.discrete else 2 for site in self.layout.sites)

    @property
    def width(self) -> int:
        """D, how many numbers a code has."""
        return self.layout.width

    @property
    def decoder_width(self) -> int:
        """How many numbers the decoder reads: the code's, unless a latent adds some."""
        return self.width

    @abstractmethod
    def build(self) -> LatentModule:
        """The module that makes posteriors."""
