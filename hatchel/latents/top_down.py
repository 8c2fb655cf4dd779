"""TopDown: layers of coordinates, each drawn given those above it: q(z|x) = q(z_L|x) prod_l q(z_l|z_>l, x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor

from hatchel.core.cached import cached
from hatchel.core.distributed import own_rows, world
from hatchel.latents.latent import LatentModule
from hatchel.latents.layout import Block, Layout, Partition
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import LOG_2PI, Prior


def layered(sizes: tuple[int, ...]) -> Layout:
    """Of layers of so many coordinates, the top layer first: a group is a layer.

    >>> layered((2, 3)).names
    ('z2', 'z1')
    """
    groups = {f"z{len(sizes) - i}": (1,) * size for i, size in enumerate(sizes)}
    return Layout.of(groups, layered=True, closed_kl=False)


class Normal(NamedTuple):
    """Means and log-variances of one layer's coordinates, each (B, D_l)."""

    mean: Tensor
    log_variance: Tensor


class Layer(NamedTuple):
    """One layer, given the draws of those above it."""

    prior: Normal
    posterior: Normal


class TopDownModule(LatentModule, ABC):
    """The way down: a state that starts the same for all items and learns of one layer's draw after the other."""

    sizes: tuple[int, ...]
    """Coordinates of each layer, the top layer first."""

    @abstractmethod
    def start(self, rows: int, like: Tensor) -> Tensor:
        """The state above the top layer: (rows, ...)."""

    @abstractmethod
    def layer_prior(self, layer: int, state: Tensor) -> Normal:
        """p(z_l|z_>l)."""

    @abstractmethod
    def merged(self, layer: int, state: Tensor, own: Normal, prior: Normal) -> Normal:
        """q(z_l|z_>l, x) from the encoder's own numbers of this layer and what came from above."""

    @abstractmethod
    def onward(self, layer: int, state: Tensor, z: Tensor) -> Tensor:
        """The state below a layer, given its draw (rows, D_l)."""

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> TopDownPosterior:
        return TopDownPosterior(parameters, self)

    def prior_at(self, step: int | None = None) -> Prior:
        return TopDownPrior(self)

    def states(self, z: Tensor) -> list[Tensor]:
        """The state above each layer and, last, below the lowest, for codes (B, D)."""
        states = [self.start(z.shape[0], z)]
        for layer, part in enumerate(z.split(self.sizes, 1)):
            states.append(self.onward(layer, states[-1], part))
        return states


class TopDownPrior(Prior):
    """p(z) = p(z_L) prod_l p(z_l|z_>l)."""

    factorised = False
    learned = True

    def __init__(self, network: TopDownModule) -> None:
        self.network = network
        self.layout = network.layout

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        states, drawn = self.network.states(z), z.split(self.network.sizes, 1)
        parts = [_log_density(z_l, self.network.layer_prior(i, states[i])) for i, z_l in enumerate(drawn)]
        return torch.cat(parts, 1)[:, list(block)].sum(1)

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        like = next(self.network.parameters())
        noise = torch.randn(n, self.layout.width, generator=generator).to(like)
        state = self.network.start(n, like)
        drawn: list[Tensor] = []
        for i, part in enumerate(noise.split(self.network.sizes, 1)):
            normal = self.network.layer_prior(i, state)
            drawn.append(normal.mean + (0.5 * normal.log_variance).exp() * part)
            state = self.network.onward(i, state, drawn[-1])
        return torch.cat(drawn, 1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """KL(q(z_l|z_>l, x) || p(z_l|z_>l)) of each coordinate in closed form, the layers above at their draws: (B, D).

        Their sum has the mean KL(q(z|x) || p(z)), with less noise than log q - log p at the draw.
        """
        assert isinstance(q, TopDownPosterior)
        return torch.cat([_kl(layer.posterior, layer.prior) for layer in q.layers(z)], 1)


class TopDownPosterior(Posterior):
    """Normal layers in sequence; a group is a layer, the top layer first.

    `mean` and `variance` belong to the path on which every layer above stands at its mean: exact moments of q(z|x) for
    the top layer, and the deterministic code that metrics read for the others.
    """

    def __init__(self, parameters: Tensor, network: TopDownModule) -> None:
        self.parameters = parameters  # (B, 2 D)
        self.network = network
        self.layout = network.layout
        self._last: tuple[Tensor, list[Layer]] | None = None

    @cached
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._central[0]

    @cached
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._central[1]

    def rsample(self, generator: torch.Generator) -> Tensor:
        rows, dim = self.parameters.shape[0], self.layout.width
        noise = own_rows(torch.randn(rows * world(), dim, generator=generator)).to(self.parameters)
        parts = noise.split(self.network.sizes, 1)
        layers, z = self._walk(lambda i, q: q.mean + (0.5 * q.log_variance).exp() * parts[i])
        self._last = (z, layers)
        return z

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        parts = [_log_density(z_l, layer.posterior) for z_l, layer in zip(self._split(z), self.layers(z), strict=True)]
        return torch.cat(parts, 1)[:, list(block)].sum(1)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        rows, columns = z.shape[0], self.parameters.shape[0]
        states, own = self.network.states(z), self._own()
        sites: list[Tensor] = []
        for i, z_l in enumerate(self._split(z)):
            state, drawn = (t.repeat_interleave(columns, 0) for t in (states[i], z_l))
            mine = Normal(*(t.repeat(rows, 1) for t in own[i]))
            merged = self.network.merged(i, state, mine, self.network.layer_prior(i, state))
            sites.append(_log_density(drawn, merged).unflatten(0, (rows, columns)))
        every = torch.cat(sites, 2)  # (R, B, S)
        return torch.stack([every[:, :, list(block)].sum(2) for block in blocks])

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(change(self.parameters), self.network)

    @cached
    def _central(self) -> tuple[Tensor, Tensor]:
        layers, mean = self._walk(lambda _, q: q.mean)
        return mean, torch.cat([layer.posterior.log_variance for layer in layers], 1).exp()

    def _walk(self, choose: Callable[[int, Normal], Tensor]) -> tuple[list[Layer], Tensor]:
        """Down through the layers, each coordinate as `choose` draws it."""
        network, own = self.network, self._own()
        state = network.start(self.parameters.shape[0], self.parameters)
        layers: list[Layer] = []
        drawn: list[Tensor] = []
        for i in range(len(network.sizes)):
            prior = network.layer_prior(i, state)
            layers.append(Layer(prior, network.merged(i, state, own[i], prior)))
            drawn.append(choose(i, layers[-1].posterior))
            if i + 1 < len(network.sizes):
                state = network.onward(i, state, drawn[-1])
        return layers, torch.cat(drawn, 1)

    def layers(self, z: Tensor) -> list[Layer]:
        """p(z_l|z_>l) and q(z_l|z_>l, x) at a code; those of the last draw are known."""
        if self._last is None or self._last[0] is not z:
            parts = self._split(z)
            self._last = (z, self._walk(lambda i, _: parts[i])[0])
        return self._last[1]

    def _own(self) -> list[Normal]:
        mean, log_variance = self.parameters.unflatten(1, (-1, 2)).unbind(2)
        return [Normal(m, v) for m, v in zip(self._split(mean), self._split(log_variance), strict=True)]

    def _split(self, z: Tensor) -> tuple[Tensor, ...]:
        return z.split(self.network.sizes, 1)


def standard(rows: int, size: int, like: Tensor) -> Normal:
    """N(0, I), the prior of a top layer."""
    zero = like.new_zeros(rows, size)
    return Normal(zero, zero)


def _log_density(z: Tensor, normal: Normal) -> Tensor:
    scaled = (z - normal.mean).square() * (-normal.log_variance).exp()
    return -0.5 * (scaled + normal.log_variance + LOG_2PI)


def _kl(q: Normal, p: Normal) -> Tensor:
    ratio = q.log_variance - p.log_variance
    return 0.5 * (ratio.exp() + (q.mean - p.mean).square() * (-p.log_variance).exp() - 1 - ratio)
