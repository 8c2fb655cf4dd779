"""Correlated: Gaussian coordinates whose noise is correlated, to see what independent noise is good for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Self

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.spec import Count
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal, membership
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout, Partition, plain_layout
from hatchel.latents.posterior import Posterior, picked
from hatchel.latents.prior import LOG_2PI, Prior


class Correlated(Latent):
    """z = mu + sigma * eps, eps ~ N(0, C), C = (1 - r) I + r 11^T; the prior is N(0, I) (Split Encoder, Sec. 5.2.1)."""

    dim: Count = 10
    """D, the number of coordinates."""
    correlation: Annotated[float, Ge(0), Lt(1)] = 0.9
    """r, of any two coordinates' noise; at 0 this is the diagonal latent."""

    @property
    def layout(self) -> Layout:
        return plain_layout(self.dim)

    def build(self) -> LatentModule:
        return _CorrelatedModule(self)


class _CorrelatedModule(LatentModule):
    def __init__(self, spec: Correlated) -> None:
        super().__init__(spec.layout)
        self.correlation = spec.correlation

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> CorrelatedGaussian:
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        return CorrelatedGaussian(mean, log_variance, self.correlation)

    def prior_at(self, step: int | None = None) -> Prior:
        return _CorrelatedPrior(self.layout)


class _CorrelatedPrior(StandardNormal):
    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """By the chain rule, E KL(q(z_s|z_<s, x) || p(z_s)): site s's own KL - 1/2 log(|C_s+1| / |C_s|), s before it.

        They sum to KL(q(z|x) || p(z)) = sum_s KL(q(z_s|x) || p(z_s)) + the conditional total correlation.
        """
        assert isinstance(q, CorrelatedGaussian)
        r, before = q.correlation, torch.arange(q.mean.shape[1]).to(q.mean)
        log_ratio = torch.log((1 - r) * (1 + before * r) / (1 + (before - 1) * r))
        log_ratio[0] = 0.0
        return super().kl(q, z) - 0.5 * log_ratio


class CorrelatedGaussian(DiagonalGaussian):
    """N(mu, diag(sigma) C diag(sigma)) for each of B inputs; one group of D sites.

    Any n of the coordinates have a C of the same form, with log|C_n| = (n - 1) log(1 - r) + log(1 + (n - 1) r) and
    (1 - r) u^T C_n^-1 u = sum u^2 - r / (1 + (n - 1) r) (sum u)^2.
    """

    def __init__(self, mean: Tensor, log_variance: Tensor, correlation: float) -> None:
        super().__init__(mean, log_variance)
        self.correlation = correlation

    def rsample(self, generator: torch.Generator) -> Tensor:
        """eps = sqrt(1 - r) of own noise + sqrt(r) of one draw that all coordinates have in common."""
        rows, dim = self.mean.shape
        draws = own_rows(torch.randn(rows * world(), dim + 1, generator=generator)).to(self.mean)
        noise = math.sqrt(1 - self.correlation) * draws[:, 1:] + math.sqrt(self.correlation) * draws[:, :1]
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        z, mean, log_variance = (picked(t, block) for t in (z, self.mean, self.log_variance))
        u = (z - mean) * (-0.5 * log_variance).exp()
        size = torch.full((), len(block), dtype=z.dtype, device=z.device)
        return self._log_density(u.square().sum(1), u.sum(1), log_variance.sum(1), size)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        # (S, R, B), as for the diagonal latent.
        u = (z.T[:, :, None] - self.mean.T[:, None, :]) * (-0.5 * self.log_variance).exp().T[:, None, :]
        members = membership(blocks, z.shape[1], z)
        squares, sums = (members @ s.flatten(1) for s in (u.square(), u))
        shape = (len(blocks), *u.shape[1:])
        log_variances = (members @ self.log_variance.T)[:, None, :]
        size = members.sum(1)[:, None, None]
        return self._log_density(squares.view(shape), sums.view(shape), log_variances, size)

    @property
    def noise(self) -> Tensor:
        dim = self.mean.shape[1]
        return torch.full((dim, dim), self.correlation).fill_diagonal_(1.0)

    def mean_covariance(self) -> Tensor:
        sigma = (0.5 * self.log_variance).exp()
        c = self.correlation * sigma.T @ sigma / sigma.shape[0]
        return c + (1 - self.correlation) * torch.diag(self.variance.mean(0))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(change(self.mean), change(self.log_variance), self.correlation)

    def _log_density(self, squares: Tensor, sums: Tensor, log_variances: Tensor, size: Tensor) -> Tensor:
        """log N of `size` coordinates from sum u^2, sum u and sum log sigma^2."""
        r = self.correlation
        last = 1 + (size - 1) * r
        quadratic = (squares - r / last * sums.square()) / (1 - r)
        log_determinant = (size - 1) * math.log1p(-r) + last.log()
        return -0.5 * (quadratic + log_determinant + log_variances + size * LOG_2PI)
