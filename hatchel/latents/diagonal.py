"""Diagonal: q(z|x) = N(mu, diag sigma^2) with the prior N(0, I), the latent of every baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.spec import Count
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout, Partition, plain_layout
from hatchel.latents.posterior import Posterior, unrounded
from hatchel.latents.prior import LOG_2PI, Prior


class Diagonal(Latent):
    """Independent Gaussian coordinates."""

    dim: Count = 10
    """D, the number of coordinates."""

    @property
    def layout(self) -> Layout:
        return plain_layout(self.dim)

    def build(self) -> LatentModule:
        return _DiagonalModule(self.layout)


class _DiagonalModule(LatentModule):
    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> DiagonalGaussian:
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        return DiagonalGaussian(mean, log_variance)

    def prior_at(self, step: int | None = None) -> Prior:
        return StandardNormal(self.layout)


class StandardNormal(Prior):
    """N(0, I)."""

    standard = True

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        return -0.5 * (z[:, list(block)].square() + LOG_2PI).sum(1)

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        return torch.randn(n, self.layout.width, generator=generator)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """(mu^2 + sigma^2 - 1 - log sigma^2) / 2 per coordinate (Kingma & Welling 2014, App. B)."""
        assert isinstance(q, DiagonalGaussian)
        return 0.5 * (q.mean.square() + q.variance - 1 - q.log_variance)


class DiagonalGaussian(Posterior):
    """N(mu, diag sigma^2) for each of B inputs."""

    def __init__(self, mean: Tensor, log_variance: Tensor, layout: Layout | None = None) -> None:
        self.mean = mean
        self.log_variance = log_variance
        self.layout = layout or plain_layout(mean.shape[1])

    @property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.log_variance.exp()

    def rsample(self, generator: torch.Generator) -> Tensor:
        rows, dim = self.mean.shape
        noise = own_rows(torch.randn(rows * world(), dim, generator=generator)).to(self.mean)
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        index = list(block)
        mean, log_variance = self.mean[:, index], self.log_variance[:, index]
        return (-0.5 * ((z[:, index] - mean).square() / log_variance.exp() + log_variance + LOG_2PI)).sum(1)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        sites = cross_normal(z, self.mean, self.log_variance)
        return within(blocks, {s: s for s in self.layout.whole}, (sites,))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(change(self.mean), change(self.log_variance), self.layout)


def cross_normal(z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """log N(z_i,s; mu_j,s, sigma_j,s^2) of codes (R, S) under B posteriors (B, S): (S, R, B).

    Laid out in that order, which the inputs' own order would upset: reductions over the last axis run over contiguous
    memory.
    """
    result = _CrossNormal.apply(z.T.contiguous(), mean.T.contiguous(), log_variance.T.contiguous())
    assert isinstance(result, Tensor)
    return result


class _CrossNormal(torch.autograd.Function):
    """With u = (z - mu) / sigma, log N = -(u^2 + log sigma^2 + log 2 pi) / 2.

    So d/dz = -u / sigma, d/dmu = u / sigma, d/dlog sigma^2 = (u^2 - 1) / 2.

    By hand, because what counts is how often S x R x B numbers go through memory: a third as often as by autograd.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        precision = (-0.5 * log_variance).exp()
        u = (z[:, :, None] - mean[:, None, :]).mul_(precision[:, None, :])
        ctx.save_for_backward(u, precision)
        return u.square().add_((log_variance + LOG_2PI)[:, None, :]).mul_(-0.5)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        u, precision = ctx.saved_tensors
        (g,) = gradients
        pulled = g * u  # -d/du
        along = pulled.sum(1)  # (S, B)
        spread = 0.5 * (pulled.mul(u).sum(1) - g.sum(1))
        return -(pulled @ precision[:, :, None])[..., 0], along * precision, spread


def within(blocks: Partition, sites: Mapping[int, int], parts: tuple[Tensor, ...]) -> Tensor:
    """Densities (S_1, R, B), (S_2, R, B), ... of sites, summed within blocks by matrix products: (blocks, R, B).

    `sites` says at which place of the parts, counted through, each site is.
    """
    membership = parts[0].new_zeros(len(blocks), len(sites))
    for row, block in enumerate(blocks):
        membership[row, [sites[s] for s in block]] = 1.0
    shares = membership.split([part.shape[0] for part in parts], 1)
    with unrounded(parts[0]):
        total = shares[0] @ parts[0].flatten(1)
        for share, part in zip(shares[1:], parts[1:], strict=True):
            total = total.addmm_(share, part.flatten(1))
    return total.unflatten(1, parts[0].shape[1:])
