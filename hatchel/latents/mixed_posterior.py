"""MixedPosterior: normal coordinates and Concrete variables; the posterior of a mixed latent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.cached import cached
from hatchel.core.distributed import own_rows, world
from hatchel.latents import concrete
from hatchel.latents.concrete import Form
from hatchel.latents.diagonal import cross_normal, within
from hatchel.latents.layout import Block, Layout, Partition
from hatchel.latents.posterior import Posterior, picked
from hatchel.latents.prior import LOG_2PI


class MixedPosterior(Posterior):
    """Normal coordinates and Concrete variables, independent given x.

    `mean` and `variance` are those of the coordinates and of the one-hot classes that the Concrete variables relax: the
    class probabilities p and p (1 - p).
    """

    def __init__(self, parameters: Tensor, layout: Layout, temperature: float | Tensor, form: Form) -> None:
        self.parameters = parameters  # (B, sum(widths))
        self.layout, self.temperature = layout, temperature
        self.form: Form = form

    @cached
    def locations(self) -> Tensor:
        """mu: (B, G)."""
        return picked(self.parameters, [self.layout.starts[s] for s in self.layout.coordinates])

    @cached
    def log_variances(self) -> Tensor:
        """log sigma^2: (B, G)."""
        return picked(self.parameters, [self.layout.starts[s] + 1 for s in self.layout.coordinates])

    @cached
    def logits(self) -> dict[int, Tensor]:
        """log of the class probabilities of each discrete site: (B, K)."""
        places = {s: slice(*self.layout.starts[s : s + 2]) for s in self.layout.discrete}
        return {s: self.parameters[:, place].log_softmax(1) for s, place in places.items()}

    @cached
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.assembled(self.locations, {s: logits.exp() for s, logits in self.logits.items()})

    @cached
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        parts = {s: logits.exp() * (1 - logits.exp()) for s, logits in self.logits.items()}
        return self.assembled(self.log_variances.exp(), parts)

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps for the coordinates, softmax((log p + Gumbel) / lambda) for the classes."""
        return self._placed(*self._noise(generator))

    def _noise(self, generator: torch.Generator) -> tuple[Tensor, dict[int, Tensor]]:
        """Of the coordinates, in standard deviations, and the drawn classes."""
        rows, coordinates = self.parameters.shape[0], len(self.layout.coordinates)
        noise = own_rows(torch.randn(rows * world(), coordinates, generator=generator)).to(self.parameters)
        parts: dict[int, Tensor] = {}
        for s, logits in self.logits.items():
            times = torch.empty(rows * world(), logits.shape[1]).exponential_(generator=generator)
            parts[s] = concrete.draw(logits, self.temperature, own_rows(times).to(logits))
        return noise, parts

    def _placed(self, noise: Tensor, classes: Mapping[int, Tensor]) -> Tensor:
        return self.assembled(self.locations + (0.5 * self.log_variances).exp() * noise, classes)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        numbers = [self.layout.numbers[s] for s in block if s in self.layout.numbers]
        real = picked(picked(z, self.layout.real), numbers) - picked(self.locations, numbers)
        log_variance = picked(self.log_variances, numbers)
        total = -0.5 * (real.square() / log_variance.exp() + log_variance + LOG_2PI).sum(1)
        for s in (s for s in block if s in self.logits):
            chosen = picked(z, self.layout.columns((s,)))
            total = total + concrete.log_prob(chosen, self.logits[s], self.temperature, self.form)
        return total

    def code_log_prob(self, z: Tensor) -> Tensor:
        return type(self)(self.parameters, self.layout, self.temperature, "soft").log_prob(z, self.layout.whole)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        parts = [cross_normal(picked(z, self.layout.real), self.locations, self.log_variances)]  # (G, R, B)
        for s, logits in self.logits.items():
            chosen = picked(z, self.layout.columns((s,)))
            parts.append(concrete.cross_log_prob(chosen, logits, self.temperature, self.form)[None])
        order = {s: i for i, s in enumerate((*self.layout.coordinates, *self.layout.discrete))}
        return within(blocks, order, tuple(parts))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(change(self.parameters), self.layout, self.temperature, self.form)

    def assembled(self, coordinates: Tensor, discrete: Mapping[int, Tensor]) -> Tensor:
        """In the order of the sites, the columns of the Gaussian coordinates (B, G) and of each discrete site."""
        parts: list[Tensor] = []
        for sites in self.layout.runs:
            real = [self.layout.numbers[s] for s in sites if s in self.layout.numbers]
            parts += [picked(coordinates, real)] if real else [discrete[s] for s in sites]
        return torch.cat(parts, 1)


class ByClassPosterior(MixedPosterior):
    """q(c|x) q(s|x,c): the coordinates' means and log-variances are given for each class, and c chooses among them.

    A relaxed c chooses by its shares. HFVAE's tables draw no line from the class to the style; the authors' program
    lets style read the drawn class, and so does this, as an option. Its terms need log q of codes under other items'
    posteriors. The density of (c_i, s_i) under x_j is taken to be q(c_i|x_j) q(s_i|x_j, c_j), at the class that was
    drawn for item j, as in the authors' library. Then every density is a sum over sites and the terms telescope to
    log q(c|x) q(s|x,c) - log p(z). Averaged over j it is an unbiased estimate of q(s) and of q(c); of the joint density
    it is exact where c_i = c_j or q(c_i|x_j) = 0, that is for sure classes. The exact form would ask for the style
    of every item under the class of every other.

    `mean` and `variance` are the moments over classes; the KL of the coordinates is that given the drawn class.
    """

    def given(self, classes: Tensor) -> MixedPosterior:
        """q(c|x) and q(s|x, c) for one class of each input, (B, K) one-hot or relaxed."""
        chosen = {s: classes[:, None, :] @ table for s, table in self._tables.items()}  # (B, 1, 2)
        parts = [chosen[s][:, 0] if s in chosen else self.logits[s] for s in self.layout.whole]
        return MixedPosterior(torch.cat(parts, 1), self.layout, self.temperature, self.form)

    @cached
    def _tables(self) -> dict[int, Tensor]:
        """Mean and log-variance of each coordinate for each class: (B, K, 2)."""
        return {s: self._parts[s].unflatten(1, (-1, 2)) for s in self.layout.coordinates}

    @cached
    def _parts(self) -> tuple[Tensor, ...]:
        (site,) = self.layout.discrete
        classes = self.layout.sites[site].classes
        return self.parameters.split([s.classes or 2 * classes for s in self.layout.sites], 1)

    @cached
    def logits(self) -> dict[int, Tensor]:
        return {s: self._parts[s].log_softmax(1) for s in self.layout.discrete}

    @cached
    def locations(self) -> Tensor:
        return self._moments[0]

    @cached
    def log_variances(self) -> Tensor:
        return self._moments[1].log()

    @cached
    def _moments(self) -> tuple[Tensor, Tensor]:
        """Mean and variance of the coordinates, over classes: (B, G) each."""
        (logits,) = self.logits.values()
        mean, log_variance = torch.stack([*self._tables.values()], 1).unbind(3)  # (B, G, K)
        share = logits.exp()[:, None, :]
        centre = (share * mean).sum(2)
        return centre, (share * (log_variance.exp() + (mean - centre[..., None]).square())).sum(2)

    def draw(self, generator: torch.Generator) -> tuple[MixedPosterior, Tensor]:
        noise, parts = self._noise(generator)
        q = self.given(*parts.values())
        return q, q._placed(noise, parts)

    def rsample(self, generator: torch.Generator) -> Tensor:
        return self.draw(generator)[1]

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        return self.given(z[:, self.layout.columns(self.layout.discrete)]).log_prob(z, block)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        raise TypeError("no class was drawn for these inputs: ask the posterior that `draw` returns")

    def code(self, hard: bool = False) -> Tensor:
        """If `hard`, the coordinates' means are those of the decided class."""
        if not hard:
            return self.mean
        (logits,) = self.logits.values()
        return self.given(F.one_hot(logits.argmax(1), logits.shape[1]).to(logits)).code(hard=True)
