"""Diagonal: q(z|x) = N(mu, diag sigma^2) with the prior N(0, I), the latent of every baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.spec import Count
from hatchel.latents.cross import cross_normal, within
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.posterior import Block, Partition, Posterior
from hatchel.latents.prior import LOG_2PI


class Diagonal(Latent):
    """Independent Gaussian coordinates."""

    dim: Count = 10
    """D, the number of coordinates."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Mean and log-variance of each coordinate."""
        return (2,) * self.dim

    @property
    def width(self) -> int:
        """One number a coordinate."""
        return self.dim

    def build(self) -> LatentModule:
        """No parameters of its own."""
        return _DiagonalModule()


class _DiagonalModule(LatentModule):
    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> DiagonalGaussian:
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        return DiagonalGaussian(mean, log_variance)


class DiagonalGaussian(Posterior):
    """N(mu, diag sigma^2) for each of B inputs; one group of D sites."""

    continuous = True
    factorised_prior = True

    def __init__(self, mean: Tensor, log_variance: Tensor, level: int = 0, levels: int = 1) -> None:
        self.mean = mean
        self.log_variance = log_variance
        self.level, self.levels = level, levels
        self.groups = (tuple(range(mean.shape[1])),)

    @property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """sigma^2: (B, D)."""
        return self.log_variance.exp()

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps."""
        rows, dim = self.mean.shape
        noise = own_rows(torch.randn(rows * world(), dim, generator=generator)).to(self.mean)
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """Sum over the block of log N(z_d; mu_d, sigma_d^2)."""
        return self._at(block)._log_density(z[:, list(block)]).sum(1)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """Every code under every posterior, site by site, then summed within blocks by one matrix product."""
        sites = cross_normal(z, self.mean, self.log_variance)
        return within(blocks, {s: s for s in self.whole}, (sites,))

    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log N(z_block; 0, I)."""
        return -0.5 * (z[:, list(block)].square() + LOG_2PI).sum(1)

    def kl(self) -> Tensor:
        """KL = (mu^2 + sigma^2 - 1 - log sigma^2) / 2 per coordinate (Kingma & Welling 2014, App. B)."""
        return 0.5 * (self.mean.square() + self.variance - 1 - self.log_variance)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Mean and log-variance changed alike."""
        return type(self)(change(self.mean), change(self.log_variance), self.level, self.levels)

    def _at(self, block: Block) -> DiagonalGaussian:
        return DiagonalGaussian(self.mean[:, list(block)], self.log_variance[:, list(block)])

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * ((z - self.mean).square() / self.variance + self.log_variance + LOG_2PI)
