"""Mixed: named groups of Gaussian and discrete variables, with a prior that may be learned; the latent of HFVAE."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.core.errors import HatchelError
from hatchel.latents import concrete
from hatchel.latents.concrete import Temperature
from hatchel.latents.cross import cross_normal, within
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.posterior import Block, Partition, Posterior
from hatchel.latents.prior import LOG_2PI, Prior
from hatchel.latents.variables import Concrete, Gaussian, Variable, in_order, partition
from hatchel.nets.part import Classes


class Mixed(Latent):
    """Named groups of variables: `Mixed({"style": Gaussian(10), "class": Concrete(10)})` (Esmaeili et al. 2019).

    A site is one Gaussian coordinate or one whole discrete variable. Sites come in alphabetical order of the groups'
    names.
    """

    groups: Mapping[str, Variable] = dataclasses.field(
        default_factory=lambda: {"class": Concrete(10), "style": Gaussian(10)}
    )
    """Names and variables; a `group` nests deeper."""
    prior: Literal["standard", "groups", "whole"] = "standard"
    """N(0, I) and equal class probabilities; or learned: a full covariance for the Gaussian coordinates of each group,
    or for all of them together, and class probabilities."""
    temperature: Temperature = Temperature()
    """Of the relaxation, a number or a schedule; the prior's too."""
    discrete_kl: Literal["drawn", "categorical"] = "drawn"
    """KL of the relaxed densities at the draw, a true bound; or in closed form, of the categorical distributions that
    they relax (Dupont 2018), which the relaxed sample may undercut."""

    def check(self) -> None:
        """There must be something in it."""
        if not self.groups:
            raise HatchelError("groups: a latent needs at least one group")

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers of the code each site takes."""
        return tuple(size for _, group in in_order(self.groups) for size in group.sizes)

    @property
    def widths(self) -> tuple[int, ...]:
        """Mean and log-variance of each coordinate, log-probabilities of each class."""
        return tuple(2 if size == 1 else Classes(size) for size in self.sizes)

    @property
    def width(self) -> int:
        """One number a coordinate, K for K classes."""
        return sum(self.sizes)

    def build(self) -> LatentModule:
        """With the prior's parameters, if it has any."""
        depth = max(group.depth for group in self.groups.values())
        nesting = tuple(partition(self.groups, d) for d in range(depth + 1))
        layout = Layout(self.sizes, nesting, tuple(name for name, _ in in_order(self.groups)))
        return _MixedModule(self, layout)


@dataclass(frozen=True)
class Layout:
    """Where each site's numbers lie: among the encoder's, in the code, and among the sites of its sort."""

    sizes: tuple[int, ...]
    nesting: tuple[Partition, ...]
    names: tuple[str, ...]

    @functools.cached_property
    def coordinates(self) -> dict[int, int]:
        """Gaussian sites and their numbers among themselves."""
        return {s: i for i, s in enumerate(s for s, size in enumerate(self.sizes) if size == 1)}

    @functools.cached_property
    def discrete(self) -> dict[int, int]:
        """Discrete sites and their numbers among themselves."""
        return {s: i for i, s in enumerate(s for s, size in enumerate(self.sizes) if size > 1)}

    @functools.cached_property
    def code(self) -> list[slice]:
        """Each site's columns of z."""
        return _slices(self.sizes)

    @functools.cached_property
    def encoder(self) -> list[slice]:
        """Each site's columns of the encoder's numbers."""
        return _slices(tuple(2 if size == 1 else size for size in self.sizes))

    @functools.cached_property
    def real(self) -> list[int]:
        """The columns of z that hold Gaussian coordinates."""
        return [self.code[s].start for s in self.coordinates]

    def columns(self, block: Block) -> list[int]:
        """The columns of z of some sites."""
        return [c for s in block for c in range(self.code[s].start, self.code[s].stop)]


class _MixedModule(LatentModule):
    def __init__(self, spec: Mixed, layout: Layout) -> None:
        super().__init__()
        self.spec, self.layout = spec, layout
        groups = layout.nesting[0] if spec.prior == "groups" else (tuple(range(len(layout.sizes))),)
        blocks = [tuple(layout.coordinates[s] for s in group if s in layout.coordinates) for group in groups]
        classes = [layout.sizes[s] for s in layout.discrete]
        self.prior = Prior(tuple(b for b in blocks if b), classes, spec.prior != "standard")

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> MixedPosterior:
        numbers = parameters.float() if parameters.dtype in (torch.float16, torch.bfloat16) else parameters
        at = self.spec.temperature.at(step)
        return MixedPosterior(numbers, self.layout, at, self.prior, self.spec.discrete_kl == "categorical")


class MixedPosterior(Posterior):
    """Normal coordinates and Concrete variables, independent given x.

    `mean` and `variance` are those of the coordinates and of the one-hot classes that the Concrete variables relax: the
    class probabilities p and p (1 - p).
    """

    def __init__(self, parameters: Tensor, layout: Layout, temperature: float, prior: Prior, categorical: bool) -> None:
        self.parameters = parameters  # (B, sum(widths))
        self.layout, self.temperature, self.prior, self.categorical = layout, temperature, prior, categorical
        self.groups, self.names = layout.nesting[0], layout.names
        self.continuous = not layout.discrete
        self.factorised_prior = not (prior.learned and layout.coordinates)

    @property
    def nesting(self) -> tuple[Partition, ...]:
        """As the latent's groups nest."""
        return self.layout.nesting

    @functools.cached_property
    def locations(self) -> Tensor:
        """mu: (B, G)."""
        return self.parameters[:, [self.layout.encoder[s].start for s in self.layout.coordinates]]

    @functools.cached_property
    def log_variances(self) -> Tensor:
        """log sigma^2: (B, G)."""
        return self.parameters[:, [self.layout.encoder[s].start + 1 for s in self.layout.coordinates]]

    @functools.cached_property
    def logits(self) -> dict[int, Tensor]:
        """log of the class probabilities of each discrete site: (B, K)."""
        return {s: self.parameters[:, self.layout.encoder[s]].log_softmax(1) for s in self.layout.discrete}

    @functools.cached_property
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """mu and p: (B, D)."""
        return self._assembled(self.locations, {s: logits.exp() for s, logits in self.logits.items()})

    @functools.cached_property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """sigma^2 and p (1 - p): (B, D)."""
        parts = {s: logits.exp() * (1 - logits.exp()) for s, logits in self.logits.items()}
        return self._assembled(self.log_variances.exp(), parts)

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps for the coordinates, softmax((log p + Gumbel) / lambda) for the classes."""
        rows, coordinates = self.locations.shape
        noise = own_rows(torch.randn(rows * world(), coordinates, generator=generator)).to(self.parameters)
        parts: dict[int, Tensor] = {}
        for s, logits in self.logits.items():
            times = torch.empty(rows * world(), logits.shape[1]).exponential_(generator=generator)
            parts[s] = concrete.draw(logits, self.temperature, own_rows(times).to(logits))
        return self._assembled(self.locations + (0.5 * self.log_variances).exp() * noise, parts)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """Sum over the block's sites."""
        coordinates, discrete = self._sorts(block)
        real = z[:, self.layout.real][:, coordinates] - self.locations[:, coordinates]
        log_variance = self.log_variances[:, coordinates]
        total = -0.5 * (real.square() / log_variance.exp() + log_variance + LOG_2PI).sum(1)
        for s in discrete:
            total = total + concrete.log_density(self._log_simplex(z, s), self.logits[s], self.temperature)
        return total

    def code_log_prob(self, z: Tensor) -> Tensor:
        """The categorical probability of a class, in place of the density of its relaxation."""
        total = self.log_prob(z, tuple(self.layout.coordinates))
        return total + sum((z[:, self.layout.code[s]] * logits).sum(1) for s, logits in self.logits.items())

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """Every code under every posterior, site by site, then summed within blocks by one matrix product."""
        parts = [cross_normal(z[:, self.layout.real], self.locations, self.log_variances)]  # (G, R, B)
        for s, logits in self.logits.items():
            parts.append(concrete.cross_log_density(self._log_simplex(z, s), logits, self.temperature)[None])
        order = {s: i for i, s in enumerate((*self.layout.coordinates, *self.layout.discrete))}
        return within(blocks, order, tuple(parts))

    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log N(z_block; 0, Sigma_block) and the Concrete density with the prior's class probabilities."""
        coordinates, discrete = self._sorts(block)
        total = z.new_zeros(z.shape[0])
        if coordinates:
            total = self.prior.log_density(z[:, self.layout.real], tuple(coordinates), self._covariances)
        for s in discrete:
            logits = self.prior.class_logits(self.layout.discrete[s], self.logits[s])
            total = total + concrete.log_density(self._log_simplex(z, s), logits, self.temperature)
        return total

    def kl(self) -> Tensor | None:
        """Closed for standard normal coordinates and, where that was chosen, categorical distributions."""
        if not self.factorised_prior or (self.logits and not self.categorical):
            return None
        normal = 0.5 * (self.locations.square() + self.log_variances.exp() - 1 - self.log_variances)
        columns: list[Tensor] = []
        for s in range(len(self.layout.sizes)):
            if s in self.logits:
                own = self.logits[s]
                ratio = own - self.prior.class_logits(self.layout.discrete[s], own)
                columns.append((own.exp() * ratio).sum(1))
            else:
                columns.append(normal[:, self.layout.coordinates[s]])
        return torch.stack(columns, 1)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The encoder's numbers changed."""
        return type(self)(change(self.parameters), self.layout, self.temperature, self.prior, self.categorical)

    def columns(self, z: Tensor, block: Block) -> Tensor:
        """One column for a coordinate, K for K classes."""
        return z[:, self.layout.columns(block)]

    @property
    def real(self) -> list[int]:
        """Those of the Gaussian coordinates."""
        return self.layout.real

    def code(self, hard: bool = False) -> Tensor:
        """mu, and class probabilities or the one-hot of the most probable class."""
        if not hard:
            return self.mean
        parts = {s: torch.eye(p.shape[1]).to(p)[p.argmax(1)] for s, p in self.logits.items()}
        return self._assembled(self.locations, parts)

    def clusters(self) -> Tensor | None:
        """The most probable class of each discrete variable."""
        if not self.logits:
            return None
        return torch.stack([logits.argmax(1) for logits in self.logits.values()], 1)

    @functools.cached_property
    def _covariances(self) -> tuple[Tensor, ...]:
        return self.prior.covariances

    def _sorts(self, block: Block) -> tuple[list[int], list[int]]:
        """The block's Gaussian coordinates, numbered among themselves, and its discrete sites."""
        layout = self.layout
        return [layout.coordinates[s] for s in block if s in layout.coordinates], [
            s for s in block if s in layout.discrete
        ]

    def _log_simplex(self, z: Tensor, site: int) -> Tensor:
        return concrete.log_simplex(z[:, self.layout.code[site]], self.temperature)

    def _assembled(self, coordinates: Tensor, discrete: Mapping[int, Tensor]) -> Tensor:
        """A code from values of the Gaussian coordinates (B, G) and of each discrete site (B, K)."""
        parts = [
            discrete[s] if s in discrete else coordinates[:, self.layout.coordinates[s], None]
            for s in range(len(self.layout.sizes))
        ]
        return torch.cat(parts, 1)


def _slices(sizes: tuple[int, ...]) -> list[slice]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
