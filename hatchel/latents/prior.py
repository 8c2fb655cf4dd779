"""Prior: p(z), its density, its draws, and the KL of a posterior to it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from hatchel.latents.layout import Block, Layout
from hatchel.latents.posterior import Posterior

LOG_2PI = math.log(2 * math.pi)


class Prior(ABC):
    """p(z)."""

    layout: Layout
    factorised: bool = True
    """Whether it is a product over sites; if not, its own log-ratio enters the correlation terms."""
    standard: bool = False
    """Whether its real coordinates are N(0, I)."""
    learned: bool = False
    """Whether training changes it."""

    @property
    def entropy(self) -> float | None:
        """Of its draws, in nats, where a generator can be trained on them; else None."""
        return None

    @abstractmethod
    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log p(z_i,block): (B,)."""

    @abstractmethod
    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """n draws (n, D), where its parameters are (a prior without any: on the CPU), with gradient to them."""

    def kl(self, q: Posterior, z: Tensor) -> Tensor | None:
        """KL(q(z|x) || p(z)) as a sum over sites (B, S), for posteriors of its own latent; None: no closed form.

        Of layers drawn one given another, each layer's KL given the layers above it at the draw z (B, D).
        """
        return None
