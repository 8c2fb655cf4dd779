"""CodeNoise: a code that the encoder reads off an item, and noise that it does not; the latent of InfoGAN."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.spec import Count
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout
from hatchel.latents.mixed import Mixed
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior
from hatchel.latents.variables import Concrete, Gaussian, Variable

Classes = Annotated[int, Ge(2)]


class CodeNoise(Latent):
    """c, of coordinates and classes, and incompressible noise n (Chen et al. 2016, Secs. 4-5).

    The decoder reads (c, n); outside generation, where c comes from an encoder, n is 0. Q(c|x) is normal for
    coordinates and categorical for classes.
    """

    code: Count = 10
    """Coordinates of c."""
    classes: tuple[Classes, ...] = ()
    """Discrete variables of c, by their numbers of classes."""
    noise: Annotated[int, Ge(0)] = 62
    """Coordinates of n, standard normal."""
    prior: Literal["normal", "uniform"] = "normal"
    """Of the coordinates of c: N(0, 1), or uniform on [-1, 1] as in the paper, outside of which it has no density (a
    VAE's KL to it is infinite)."""

    @property
    def over(self) -> Latent:
        """The latent of the code alone."""
        if not self.classes:
            return Diagonal(self.code)
        groups: Mapping[str, Variable] = {f"class{i}": Concrete(k) for i, k in enumerate(self.classes)}
        return Mixed({**groups, "code": Gaussian(self.code)})

    @property
    def layout(self) -> Layout:
        code = self.over.layout
        return dataclasses.replace(code, closed_kl=code.closed_kl and self.prior == "normal")

    @property
    def decoder_width(self) -> int:
        return self.width + self.noise

    def build(self) -> LatentModule:
        return _CodeNoiseModule(self)


class _CodeNoiseModule(LatentModule):
    def __init__(self, spec: CodeNoise) -> None:
        super().__init__(spec.layout)
        self.spec = spec
        self.over = spec.over.build()

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> Posterior:
        return self.over.posterior(parameters, step, level)

    def prior_at(self, step: int | None = None) -> CodePrior:
        return CodePrior(self.over.prior_at(step), self.layout, self.spec.prior == "uniform")

    def decoder_input(self, z: Tensor, level: int, noise: torch.Generator | None = None) -> Tensor:
        if noise is None:
            return F.pad(z, (0, self.spec.noise))
        return torch.cat([z, torch.randn(z.shape[0], self.spec.noise, generator=noise).to(z)], 1)


class CodePrior(Prior):
    """Coordinates that are N(0, 1) or uniform on [-1, 1], and classes with equal probabilities.

    Its draws have classes decided, as a generator reads them; `log_prob` of a class is that of the relaxation, because
    the posterior's draws are relaxed.
    """

    def __init__(self, over: Prior, layout: Layout, uniform: bool) -> None:
        """`over`: that of the code's own latent, whose coordinates are N(0, 1)."""
        self.over, self.layout, self.uniform, self.standard = over, layout, uniform, not uniform

    @property
    def entropy(self) -> float:
        each = math.log(2) if self.uniform else 0.5 * math.log(2 * math.pi * math.e)
        classes = sum(math.log(self.layout.sites[s].classes) for s in self.layout.discrete)
        return len(self.layout.coordinates) * each + classes

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        if not self.uniform:
            return self.over.log_prob(z, block)
        discrete = tuple(s for s in block if self.layout.sites[s].discrete)
        real = self.layout.columns(tuple(s for s in block if s not in discrete))
        total = torch.where(z[:, real].abs() <= 1, -math.log(2), -math.inf).to(z).sum(1)
        return total + self.over.log_prob(z, discrete) if discrete else total

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        sizes = [self.layout.sites[s].classes for s in self.layout.discrete]
        # Classes come first: the groups of the code are in the order of their names.
        parts = [F.one_hot(torch.randint(k, (n,), generator=generator), k).float() for k in sizes]
        shape = (n, len(self.layout.coordinates))
        if self.uniform:
            return torch.cat([*parts, 2 * torch.rand(shape, generator=generator) - 1], 1)
        return torch.cat([*parts, torch.randn(shape, generator=generator)], 1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor | None:
        return None if self.uniform else self.over.kl(q, z)
