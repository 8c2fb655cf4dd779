"""Nvae: groups of latent variables from a single point to a grid, joined by residual cells on the way down."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Layout
from hatchel.latents.top_down import Normal, TopDownModule, layered, standard
from hatchel.nets.residual import Cell, to_map, to_state


class Nvae(Latent):
    """z_l given z_>l by the state of a downward network; posteriors relative to priors (Vahdat & Kautz 2020, Sec. 3).

    p(z_l|z_>l) = N(mu, sigma^2) and q(z_l|z_>l, x) = N(mu + dmu, sigma^2 dsigma^2) (its Eq. 3), dmu and dsigma from the
    state and the encoder's parameters of that group. The code that metrics read holds the means of all groups, the top
    group's first; the decoder reads the last state. Small by default; the paper's spectral regularisation, batch
    normalisation and flows are left out.
    """

    sides: tuple[Count, ...] = (1, 4)
    """Side of the grid of each group, from the top down; a side is kept or multiplied."""
    variables: tuple[Count, ...] = (8, 1)
    """Latent variables at each point of each group."""
    channels: Count = 32
    """Of the state."""

    def check(self) -> None:
        if not self.sides or len(self.sides) != len(self.variables):
            raise HatchelError(
                f"variables: one number for each of the {len(self.sides)} sides, got {len(self.variables)}"
            )
        if any(below % above for above, below in pairwise(self.sides)):
            raise HatchelError(f"sides: each must be a multiple of the one before, got {self.sides}")

    @property
    def maps(self) -> tuple[tuple[int, int], ...]:
        """(variables at each point, side) of each group, for encoder=residual."""
        return tuple(zip(self.variables, self.sides, strict=True))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Coordinates of each group."""
        return tuple(count * side * side for count, side in self.maps)

    @property
    def layout(self) -> Layout:
        return layered(self.sizes)

    @property
    def state(self) -> tuple[int, int]:
        """(channels, side) of the last state, for decoder=residual_decoder."""
        return self.channels, self.sides[-1]

    @property
    def decoder_width(self) -> int:
        return self.channels * self.sides[-1] ** 2

    def build(self) -> LatentModule:
        return _NvaeModule(self)


class _NvaeModule(TopDownModule):
    def __init__(self, spec: Nvae) -> None:
        super().__init__(spec.layout)
        self.maps, self.sizes, channels = spec.maps, spec.sizes, spec.channels
        self.constant = nn.Parameter(torch.zeros(1, channels, spec.sides[0], spec.sides[0]))
        # The top group's prior is N(0, I).
        self.priors = nn.ModuleList([nn.Conv2d(channels, 2 * count, 1) for count, _ in spec.maps[1:]])
        self.mergers = nn.ModuleList([_merger(channels, count) for count, _ in spec.maps])
        self.combiners = nn.ModuleList([nn.Conv2d(channels + count, channels, 1) for count, _ in spec.maps])
        self.cells = nn.ModuleList([Cell(channels) for _ in spec.maps])

    def start(self, rows: int, like: Tensor) -> Tensor:
        return self.constant.to(like.dtype).expand(rows, -1, -1, -1)

    def layer_prior(self, layer: int, state: Tensor) -> Normal:
        if layer == 0:
            return standard(state.shape[0], self.sizes[0], state)
        return _normal(self.priors[layer - 1](F.silu(state)))

    def merged(self, layer: int, state: Tensor, own: Normal, prior: Normal) -> Normal:
        count, side = self.maps[layer]
        numbers = torch.cat([to_map(part, count, side) for part in own], 1)
        change = _normal(self.mergers[layer](torch.cat([F.silu(state), numbers], 1)) + numbers)
        return Normal(prior.mean + change.mean, prior.log_variance + change.log_variance)

    def onward(self, layer: int, state: Tensor, z: Tensor) -> Tensor:
        count, side = self.maps[layer]
        state = self.combiners[layer](torch.cat([state, to_map(z, count, side)], 1))
        if layer + 1 < len(self.maps) and self.maps[layer + 1][1] != side:
            state = F.interpolate(state, scale_factor=self.maps[layer + 1][1] / side)
        return self.cells[layer](state)

    def decoder_input(self, z: Tensor, level: int, noise: torch.Generator | None = None) -> Tensor:
        return to_state(self.states(z)[-1])


def _merger(channels: int, count: int) -> nn.Module:
    wide = nn.Conv2d(channels + 2 * count, channels, 1)
    return nn.Sequential(wide, nn.SiLU(), nn.Conv2d(channels, 2 * count, 1))


def _normal(numbers: Tensor) -> Normal:
    """Means and log-variances, two maps one after the other."""
    mean, log_variance = numbers.chunk(2, 1)
    return Normal(mean.flatten(1), log_variance.flatten(1))
