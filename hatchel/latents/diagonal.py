"""Diagonal: q(z|x) = N(mu, diag sigma^2) with the prior N(0, I), the latent of every baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import torch
from torch import Tensor

from hatchel.core.cached import remembered
from hatchel.core.distributed import own_rows, world
from hatchel.core.spec import Count
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout, Partition, plain_layout
from hatchel.latents.posterior import Posterior, picked, unrounded
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
        return DiagonalGaussian(mean, log_variance, self.layout)

    def prior_at(self, step: int | None = None) -> Prior:
        return StandardNormal(self.layout)


class StandardNormal(Prior):
    """N(0, I)."""

    standard = True

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        return -0.5 * (picked(z, block).square() + LOG_2PI).sum(1)

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
        z, mean, log_variance = (picked(t, block) for t in (z, self.mean, self.log_variance))
        return -0.5 * ((z - mean).square() / log_variance.exp() + log_variance + LOG_2PI).sum(1)

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
    found: tuple[Tensor, Tensor, Tensor] = _CrossNormal.apply(z, mean, log_variance)  # pyright: ignore
    return found[0]


class _CrossNormal(torch.autograd.Function):
    """With u = (z - mu) / sigma, log N = -(u^2 + log sigma^2 + log 2 pi) / 2.

    So d/dz = -u / sigma, d/dmu = u / sigma, d/dlog sigma^2 = (u^2 - 1) / 2.

    By hand, because what counts is how often S x R x B numbers go through memory: a third as often as by autograd; and
    with small batches, how many operations there are.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z, mean, log_variance = (t.T.contiguous() for t in (z, mean, log_variance))
        precision = (-0.5 * log_variance).exp_()
        u = (z.unsqueeze(2) - mean.unsqueeze(1)).mul_(precision.unsqueeze(1))
        return u.square().add_((log_variance + LOG_2PI).unsqueeze(1)).mul_(-0.5), u, precision

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        u, precision = ctx.saved_tensors
        g = gradients[0]
        if g is None:
            return None, None, None
        pulled = g * u  # -d/du
        along = pulled.sum(1)  # (S, B)
        spread = pulled.mul(u).sub_(g).sum(1).mul_(0.5)
        return -(pulled @ precision.unsqueeze(2)).squeeze(2).T, (along * precision).T, spread.T


def within(blocks: Partition, sites: Mapping[int, int], parts: tuple[Tensor, ...]) -> Tensor:
    """Densities (S_1, R, B), (S_2, R, B), ... of sites, summed within blocks by matrix products: (blocks, R, B).

    `sites` says at which place of the parts, counted through, each site is.
    """
    places = tuple(tuple(sites[s] for s in block) for block in blocks)
    shares = membership(places, len(sites), parts[0]).split([part.shape[0] for part in parts], 1)
    with unrounded(parts[0]):
        total = shares[0] @ parts[0].flatten(1)
        for share, part in zip(shares[1:], parts[1:], strict=True):
            total = total.addmm_(share, part.flatten(1))
    return total.unflatten(1, parts[0].shape[1:])


def membership(blocks: Partition, sites: int, like: Tensor) -> Tensor:
    """1 where a block has a site: (blocks, sites). Kept, because every step asks for the same."""
    return _membership(blocks, sites, like.dtype, like.device)


@remembered(16)
@torch.inference_mode(mode=False)
def _membership(blocks: Partition, sites: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    rows = [[float(s in block) for s in range(sites)] for block in blocks]
    return torch.tensor(rows, dtype=dtype, device=device)
