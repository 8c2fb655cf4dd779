"""Ladder: layers of coordinates whose posteriors join the encoder's word with that of the layer above."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Layout
from hatchel.latents.top_down import Normal, TopDownModule, layered, standard


class Ladder(Latent):
    """q(z_l|z_l+1, x) is the precision-weighted product of the encoder's N and p(z_l|z_l+1) (Sonderby et al. 2016).

    sigma_q^-2 = sigma_e^-2 + sigma_p^-2 and mu_q = (mu_e sigma_e^-2 + mu_p sigma_p^-2) sigma_q^2 (its Eqs. 17-19); the
    top layer has q = N(mu_e, sigma_e^2) and p = N(0, I). The code that metrics read holds the means of all layers, the
    top layer's first. The paper's batch normalisation is left out, so that items stay independent of each other.
    """

    layers: tuple[Count, ...] = (10, 5)
    """Coordinates of each layer, from the data up."""
    hidden: Count = 64
    """Units of the layer between z_l+1 and p(z_l|z_l+1)."""
    reads: Literal["bottom", "all"] = "bottom"
    """The decoder reads the lowest layer, p(x|z_1) as in the paper, or all."""

    def check(self) -> None:
        if len(self.layers) < 2:
            raise HatchelError(f"layers: a ladder has at least two, e.g. [10,5]; got {len(self.layers)}")

    @property
    def layout(self) -> Layout:
        return layered(self.layers[::-1])

    @property
    def decoder_width(self) -> int:
        return self.layers[0] if self.reads == "bottom" else self.width

    def build(self) -> LatentModule:
        return _LadderModule(self)


def precision_weighted(a: Normal, b: Normal) -> Normal:
    """The normalised product of two normal densities.

    >>> one, two = (Normal(torch.tensor(m), torch.tensor(v).log()) for m, v in ((0.0, 1.0), (3.0, 0.5)))
    >>> both = precision_weighted(one, two)
    >>> [round(float(n), 4) for n in (both.mean, both.log_variance.exp())]
    [2.0, 0.3333]
    """
    log_variance = -torch.logaddexp(-a.log_variance, -b.log_variance)
    parts = [n.mean * (log_variance - n.log_variance).exp() for n in (a, b)]
    return Normal(parts[0] + parts[1], log_variance)


class _LadderModule(TopDownModule):
    def __init__(self, spec: Ladder) -> None:
        super().__init__(spec.layout)
        self.spec = spec
        self.sizes = spec.layers[::-1]

        def rung(above: int, below: int) -> nn.Module:
            return nn.Sequential(nn.Linear(above, spec.hidden), nn.LeakyReLU(0.1), nn.Linear(spec.hidden, 2 * below))

        self.rungs = nn.ModuleList([rung(above, below) for above, below in pairwise(self.sizes)])

    def start(self, rows: int, like: Tensor) -> Tensor:
        return like.new_zeros(rows, 0)

    def layer_prior(self, layer: int, state: Tensor) -> Normal:
        if layer == 0:
            return standard(state.shape[0], self.sizes[0], state)
        return Normal(*self.rungs[layer - 1](state).chunk(2, 1))

    def merged(self, layer: int, state: Tensor, own: Normal, prior: Normal) -> Normal:
        return own if layer == 0 else precision_weighted(own, prior)

    def onward(self, layer: int, state: Tensor, z: Tensor) -> Tensor:
        return z

    def decoder_input(self, z: Tensor, level: int, noise: torch.Generator | None = None) -> Tensor:
        return z if self.spec.reads == "all" else z[:, -self.sizes[-1] :]
