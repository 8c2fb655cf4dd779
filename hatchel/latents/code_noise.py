"""CodeNoise: a code that the encoder reads off an item, and noise that it does not; the latent of InfoGAN."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

import torch
from annotated_types import Ge
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.distributed import own_rows, world
from hatchel.core.spec import Count
from hatchel.core.streams import generator
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Drawn, Latent, LatentModule
from hatchel.latents.mixed import Mixed
from hatchel.latents.posterior import Block, Partition, Posterior
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
    def widths(self) -> tuple[int, ...]:
        """The code's."""
        return self.over.widths

    @property
    def width(self) -> int:
        """The code's."""
        return self.over.width

    @property
    def decoder_width(self) -> int:
        """Code and noise."""
        return self.width + self.noise

    def build(self) -> LatentModule:
        """No parameters of its own."""
        return _CodeNoiseModule(self)


class _CodeNoiseModule(LatentModule):
    generates = True

    def __init__(self, spec: CodeNoise) -> None:
        super().__init__()
        self.spec = spec
        self.over = spec.over.build()

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> Posterior:
        q = self.over.posterior(parameters, step, level)
        return q if self.spec.prior == "normal" else UniformPrior(q)

    def sample_prior(self, rows: int, seed: int, step: int) -> Drawn:
        source, total = generator(seed, "generated", step), rows * world()
        # Classes first: the groups of the code are in the order of their names.
        parts = [F.one_hot(torch.randint(k, (total,), generator=source), k).float() for k in self.spec.classes]
        if self.spec.prior == "normal":
            parts.append(torch.randn(total, self.spec.code, generator=source))
            each = 0.5 * math.log(2 * math.pi * math.e)
        else:
            parts.append(2 * torch.rand(total, self.spec.code, generator=source) - 1)
            each = math.log(2)
        entropy = self.spec.code * each + sum(math.log(k) for k in self.spec.classes)
        code = own_rows(torch.cat(parts, 1))
        noise = own_rows(torch.randn(total, self.spec.noise, generator=source))
        return Drawn(code, torch.cat([code, noise], 1), entropy)

    def decoder_input(self, z: Tensor, level: int) -> Tensor:
        return F.pad(z, (0, self.spec.noise))


class UniformPrior(Posterior):
    """Any posterior, with a prior that is uniform on [-1, 1] for its real coordinates."""

    factorised_prior = True

    def __init__(self, q: Posterior) -> None:
        self.q = q
        self.groups, self.names, self.continuous = q.groups, q.names, q.continuous

    @property
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of the code: (B, D)."""
        return self.q.mean

    @property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of the code: (B, D)."""
        return self.q.variance

    @property
    def nesting(self) -> tuple[Partition, ...]:
        """As without the prior."""
        return self.q.nesting

    def rsample(self, generator: torch.Generator) -> Tensor:
        """As without the prior."""
        return self.q.rsample(generator)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """As without the prior."""
        return self.q.log_prob(z, block)

    def code_log_prob(self, z: Tensor) -> Tensor:
        """As without the prior."""
        return self.q.code_log_prob(z)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """As without the prior."""
        return self.q.cross_log_prob(z, blocks)

    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """-log 2 for a coordinate in [-1, 1], minus infinity for one outside."""
        place = torch.arange(z.shape[1])[None]
        real = tuple(s for s in block if self.q.columns(place, (s,)).shape[1] == 1)
        rest = tuple(s for s in block if s not in real)
        inside = self.q.columns(z, real).abs() <= 1
        total = torch.where(inside, -math.log(2), -math.inf).to(z).sum(1)
        return total + self.q.prior_log_prob(z, rest) if rest else total

    def kl(self) -> None:
        """Infinite: a normal distribution leaves every interval."""
        return

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The posterior changed."""
        return type(self)(self.q.map_tensors(change))

    def columns(self, z: Tensor, block: Block) -> Tensor:
        """As without the prior."""
        return self.q.columns(z, block)

    @property
    def real(self) -> list[int]:
        """As without the prior."""
        return self.q.real

    def code(self, hard: bool = False) -> Tensor:
        """As without the prior."""
        return self.q.code(hard)

    def clusters(self) -> Tensor | None:
        """As without the prior."""
        return self.q.clusters()
