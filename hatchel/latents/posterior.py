"""Trace: what one forward pass yields, and the posterior it carries. A term is a pure quantity of a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor

from hatchel.core.distributed import gather

Block = tuple[int, ...]
"""Latent sites taken together. A site is one Gaussian coordinate or one whole Concrete variable."""
Partition = tuple[Block, ...]
"""Disjoint blocks; every divergence of the field compares a joint with a product over a partition."""

NEEDS_REAL = "needs real coordinates and this latent has discrete sites; set latent=diagonal"
"""The end of the answer to what a discrete variable cannot have."""
LAYERED = (
    "of layers drawn one given another a part has a density only together with all layers above it; set latent=diagonal"
)
"""The end of the answer to what a part of such layers cannot have."""


class Posterior(ABC):
    """q(z|x) for the B inputs of a batch, and the prior p(z) it is compared with."""

    groups: Partition
    """Named groups of sites; one group with all sites where the latent has no finer structure."""
    mean: Tensor  # (B, D)
    variance: Tensor  # (B, D)
    continuous: bool
    """Whether every site is a real coordinate (moments and covariances then mean something)."""
    factorised_prior: bool
    """Whether p(z) is a product over sites; if not, its own log-ratio enters the correlation terms."""
    names: tuple[str, ...] = ("z",)
    """What the groups are called."""
    level: int = 0
    """Which space of a hierarchy this is."""
    levels: int = 1
    """How many spaces the hierarchy has."""

    @property
    def nesting(self) -> tuple[Partition, ...]:
        """The groups, then their parts, and so on: each partition refines the one before it."""
        return (self.groups,)

    @property
    def sites(self) -> Partition:
        """Every site by itself."""
        return tuple((s,) for group in self.groups for s in group)

    @property
    def whole(self) -> Block:
        """All sites together."""
        return tuple(s for group in self.groups for s in group)

    @abstractmethod
    def rsample(self, generator: torch.Generator) -> Tensor:
        """A reparameterised draw (B, D); every rank draws the whole batch's noise and takes its own rows."""

    @abstractmethod
    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log q(z_i,block | x_i): (B,)."""

    @abstractmethod
    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """log q(z_i,block | x_j) for R codes and the B inputs here: (len(blocks), R, B)."""

    @abstractmethod
    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log p(z_i,block): (B,)."""

    @abstractmethod
    def kl(self) -> Tensor | None:
        """KL(q(z|x) || p(z)) in closed form, as a sum over sites (B, S); None where there is none."""

    def kl_at(self, z: Tensor) -> Tensor | None:
        """The same at a draw (B, D): of layers drawn one given another, each layer's KL given the layers above it."""
        return self.kl()

    def has_marginal(self, block: Block) -> bool:
        """Whether `log_prob` and `prior_log_prob` of a block are marginal densities.

        Of layers drawn one given another, only those of a block with all layers above it; else they are conditional.
        """
        return True

    @abstractmethod
    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The same posteriors with every tensor that has a row for each input changed: sliced, or gathered."""

    def gathered(self) -> Self:
        """The posteriors of the inputs of all ranks, with gradient."""
        return self.map_tensors(gather)

    def mean_covariance(self) -> Tensor:
        """E_x Cov[z|x] over the inputs here: (D, D). Diagonal unless a latent says else."""
        return torch.diag(self.variance.mean(0))

    def columns(self, z: Tensor, block: Block) -> Tensor:
        """The coordinates of z that belong to a block: (B, width). One coordinate a site unless a latent says else."""
        return z[:, list(block)]

    @property
    def real(self) -> list[int]:
        """The columns of z that hold real coordinates."""
        return list(range(self.mean.shape[1]))

    def code_log_prob(self, z: Tensor) -> Tensor:
        """log q(z|x) at codes that were drawn from a prior, with every discrete variable decided: (B,)."""
        return self.log_prob(z, self.whole)

    def code(self, hard: bool = False) -> Tensor:
        """The representation that metrics read, (B, D): `mean`, or with every discrete variable decided if `hard`."""
        return self.mean

    def clusters(self) -> Tensor | None:
        """The most probable class of every discrete variable, (B, number of them); None where there is none."""
        return None
