"""MixedPosterior: normal coordinates and Concrete variables; the posterior of a mixed latent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Self

import torch
from torch import Tensor

from hatchel.core.distributed import own_rows, world
from hatchel.latents import concrete
from hatchel.latents.concrete import Form
from hatchel.latents.diagonal import cross_normal, within
from hatchel.latents.layout import Block, Layout, Partition
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import LOG_2PI


class MixedPosterior(Posterior):
    """Normal coordinates and Concrete variables, independent given x.

    `mean` and `variance` are those of the coordinates and of the one-hot classes that the Concrete variables relax: the
    class probabilities p and p (1 - p).
    """

    def __init__(self, parameters: Tensor, layout: Layout, temperature: float, form: Form) -> None:
        self.parameters = parameters  # (B, sum(widths))
        self.layout, self.temperature = layout, temperature
        self.form: Form = form

    @functools.cached_property
    def locations(self) -> Tensor:
        """mu: (B, G)."""
        return self.parameters[:, [self.layout.starts[s] for s in self.layout.coordinates]]

    @functools.cached_property
    def log_variances(self) -> Tensor:
        """log sigma^2: (B, G)."""
        return self.parameters[:, [self.layout.starts[s] + 1 for s in self.layout.coordinates]]

    @functools.cached_property
    def logits(self) -> dict[int, Tensor]:
        """log of the class probabilities of each discrete site: (B, K)."""
        places = {s: slice(*self.layout.starts[s : s + 2]) for s in self.layout.discrete}
        return {s: self.parameters[:, place].log_softmax(1) for s, place in places.items()}

    @functools.cached_property
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._assembled(self.locations, {s: logits.exp() for s, logits in self.logits.items()})

    @functools.cached_property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
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
        numbers = [self.layout.numbers[s] for s in block if s in self.layout.numbers]
        real = z[:, self.layout.real][:, numbers] - self.locations[:, numbers]
        log_variance = self.log_variances[:, numbers]
        total = -0.5 * (real.square() / log_variance.exp() + log_variance + LOG_2PI).sum(1)
        for s in (s for s in block if s in self.logits):
            chosen = z[:, self.layout.columns((s,))]
            total = total + concrete.log_prob(chosen, self.logits[s], self.temperature, self.form)
        return total

    def code_log_prob(self, z: Tensor) -> Tensor:
        return type(self)(self.parameters, self.layout, self.temperature, "soft").log_prob(z, self.layout.whole)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        parts = [cross_normal(z[:, self.layout.real], self.locations, self.log_variances)]  # (G, R, B)
        for s, logits in self.logits.items():
            chosen = z[:, self.layout.columns((s,))]
            parts.append(concrete.cross_log_prob(chosen, logits, self.temperature, self.form)[None])
        order = {s: i for i, s in enumerate((*self.layout.coordinates, *self.layout.discrete))}
        return within(blocks, order, tuple(parts))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(change(self.parameters), self.layout, self.temperature, self.form)

    def _assembled(self, coordinates: Tensor, discrete: Mapping[int, Tensor]) -> Tensor:
        """A code from values of the Gaussian coordinates (B, G) and of each discrete site (B, K)."""
        parts = [
            discrete[s] if s in discrete else coordinates[:, self.layout.numbers[s], None] for s in self.layout.whole
        ]
        return torch.cat(parts, 1)
