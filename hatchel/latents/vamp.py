"""Vamp: Gaussian coordinates whose prior is the mixture of the posteriors of learned pseudo-inputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hatchel.core.cached import cached
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.latents.diagonal import Diagonal, DiagonalGaussian
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout
from hatchel.latents.prior import Prior
from hatchel.nets.part import Encoded, Shape


class Vamp(Latent):
    """p(z) = 1/K sum_k q(z|u_k), u_k learned pseudo-inputs that the encoder reads (Tomczak & Welling 2018, Eq. 9).

    Pseudo-images are cut to [0, 1] (the paper's hard tanh), pseudo-rows of a table are free; both start as noise. Every
    step encodes K items more than its batch.
    """

    over: Diagonal = Diagonal()
    """The coordinates."""
    components: Count = 500
    """K."""

    @property
    def layout(self) -> Layout:
        return dataclasses.replace(self.over.layout, closed_kl=False)

    def build(self) -> LatentModule:
        return _VampModule(self)


class _VampModule(LatentModule):
    def __init__(self, spec: Vamp) -> None:
        super().__init__(spec.layout)
        self.spec = spec
        self.pseudo_inputs: nn.Parameter | None = None
        self.encoder: tuple[nn.Module, ...] = ()

    def bind_encoder(self, encoder: nn.Module, shape: Shape) -> None:
        # In a tuple: as a part of this module, its weights would be saved and updated twice.
        self.encoder = (encoder,)
        image = len(shape) == 3
        start = (torch.rand if image else torch.randn)(self.spec.components, *shape)
        self.pseudo_inputs = nn.Parameter(start)

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> DiagonalGaussian:
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        return DiagonalGaussian(mean, log_variance, self.layout)

    def prior_at(self, step: int | None = None) -> Prior:
        return VampPrior(self._components, self.layout)

    def _components(self) -> DiagonalGaussian:
        if self.pseudo_inputs is None:
            raise HatchelError("latent=vamp has no prior until it is bound to an encoder: build a model with it")
        inputs = self.pseudo_inputs
        encoded: Encoded = self.encoder[0](inputs.clamp(0, 1) if inputs.ndim == 4 else inputs)
        return self.posterior(encoded.parameters)


class VampPrior(Prior):
    """The mixture of K normal distributions, each with the same weight."""

    factorised = False
    learned = True

    def __init__(self, components: Callable[[], DiagonalGaussian], layout: Layout) -> None:
        """`components`: asked for once, and only where something reads the prior."""
        self._make = components
        self.layout = layout

    @cached
    def components(self) -> DiagonalGaussian:
        return self._make()

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        components = self.components
        under_each = components.cross_log_prob(z, (block,))[0]  # (B, K)
        return under_each.logsumexp(1) - math.log(components.mean.shape[0])

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        mean, variance = self.components.mean, self.components.variance
        chosen = torch.randint(mean.shape[0], (n,), generator=generator).to(mean.device)
        noise = torch.randn(n, mean.shape[1], generator=generator).to(mean)
        return mean[chosen] + variance.sqrt()[chosen] * noise
