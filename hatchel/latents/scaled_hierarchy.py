"""ScaledHierarchy: several latent spaces that differ by the scale of each coordinate; the latent of DeVAE."""

from __future__ import annotations

import dataclasses
from typing import Literal

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, NonNegative, added
from hatchel.core.streams import generator
from hatchel.latents.diagonal import Diagonal, DiagonalGaussian, StandardNormal
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Layout
from hatchel.latents.prior import Prior


class ScaledHierarchy(Latent):
    """K latent spaces from one encoder (Wu et al. 2023, Eqs. 4-8).

    mu_i = exp(sum_{j<i} w1_j) mu_0 and log sigma_i = log sigma_0 + sum_{j<i} w2_j, with learned vectors w1, w2 that
    start at 0. (The paper's Algorithm 1 adds w2 to the log-variance; we follow Eqs. 4-6, which scale sigma.) The
    decoder reads z_i and a learned embedding of i, as long as z. Level 0 is the representation unless another is asked
    for.
    """

    over: Diagonal = Diagonal()
    """The first space."""
    levels: Count = 3
    """K; 1 is the single space of the paper's ablation."""
    scale: NonNegative = 1.0
    """s: level i is drawn with p(i) in proportion to s^i. 1 is uniform, 0 the plain VAE. (The paper's Eq. 8 does not
    sum to 1.)"""
    spaces: Literal["scaled", "linear", "parallel"] = "scaled"
    """How the next space comes about: by the scale of each coordinate; by a full matrix on the means, mu_i =
    W mu_(i-1), the deviations scaled as before so that the posterior stays diagonal (the paper writes tau(z) = w z); or
    by parameters of its own, independent of the other spaces'."""
    trained: Literal["drawn", "summed"] = added(default="drawn")
    """A training step works on one level that is drawn (the paper's Algorithm 1), or on all, their losses added up (the
    authors' released code)."""

    def check(self) -> None:
        if self.trained == "summed" and self.scale != 1:
            raise HatchelError("scale: draws levels, and trained=summed works on all at once; leave it at 1")

    @property
    def layout(self) -> Layout:
        return dataclasses.replace(self.over.layout, levels=self.levels)

    @property
    def widths(self) -> tuple[int, ...]:
        return (2 * self.levels if self.spaces == "parallel" else 2,) * self.over.dim

    @property
    def decoder_width(self) -> int:
        return 2 * self.over.dim

    def build(self) -> LatentModule:
        return _HierarchyModule(self)


class _HierarchyModule(LatentModule):
    def __init__(self, spec: ScaledHierarchy) -> None:
        super().__init__(spec.layout)
        dim, maps = spec.over.dim, spec.levels - 1
        self.spec = spec
        # Eq. 8 made to sum to 1; 0^0 = 1 makes s = 0 the first level alone.
        self.probabilities = torch.tensor([spec.scale**i for i in range(spec.levels)], dtype=torch.float64)
        self.embeddings = nn.Embedding(spec.levels, dim)
        mapped = spec.spaces != "parallel" and maps > 0
        self.log_scales = nn.Parameter(torch.zeros(maps, dim)) if mapped and spec.spaces == "scaled" else None  # w1
        self.matrices = nn.Parameter(torch.eye(dim).repeat(maps, 1, 1)) if mapped and spec.spaces == "linear" else None
        self.log_spreads = nn.Parameter(torch.zeros(maps, dim)) if mapped else None  # w2

    def draw_level(self, seed: int, step: int) -> int:
        drawn = torch.multinomial(self.probabilities, 1, generator=generator(seed, "level", step))
        return int(drawn.numpy()[0])  # the host's own: no device is waited for

    def train_levels(self, seed: int, step: int) -> tuple[int, ...]:
        return tuple(range(self.spec.levels)) if self.spec.trained == "summed" else super().train_levels(seed, step)

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> DiagonalGaussian:
        if self.spec.spaces == "parallel":
            pairs = parameters.unflatten(1, (-1, self.layout.levels, 2))
            mean, log_variance = pairs[:, :, level].unbind(2)
            return DiagonalGaussian(mean, log_variance, self.layout)
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        if self.log_spreads is not None:
            # Maps beyond the level enter with factor 0: every parameter has a gradient at every step, as processes that
            # train together need.
            used = (torch.arange(self.layout.levels - 1, device=mean.device) < level).to(mean.dtype)
            log_variance = log_variance + 2 * (used[:, None] * self.log_spreads).sum(0)
            if self.log_scales is not None:
                mean = (used[:, None] * self.log_scales).sum(0).exp() * mean
            if self.matrices is not None:
                unit = torch.eye(mean.shape[1], dtype=mean.dtype, device=mean.device)
                for share, matrix in zip(used, self.matrices.to(mean.dtype), strict=True):
                    mean = mean @ torch.lerp(unit, matrix, share).T
        return DiagonalGaussian(mean, log_variance, self.layout)

    def prior_at(self, step: int | None = None) -> Prior:
        return StandardNormal(self.layout)

    def decoder_input(self, z: Tensor, level: int, noise: torch.Generator | None = None) -> Tensor:
        embedding = self.embeddings.weight[level].to(z.dtype)
        return torch.cat([z, embedding.expand_as(z)], 1)
