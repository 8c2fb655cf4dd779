"""Vamp: Gaussian coordinates whose prior is the mixture of the posteriors of learned pseudo-inputs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.latents.diagonal import Diagonal, DiagonalGaussian
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.posterior import Block, Partition, Posterior
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
    def widths(self) -> tuple[int, ...]:
        """Mean and log-variance of each coordinate."""
        return self.over.widths

    @property
    def width(self) -> int:
        """One number a coordinate."""
        return self.over.width

    def build(self) -> LatentModule:
        """Its pseudo-inputs come when it meets the encoder."""
        return _VampModule(self)


class _VampModule(LatentModule):
    def __init__(self, spec: Vamp) -> None:
        super().__init__()
        self.spec = spec
        self.coordinates = spec.over.build()
        self.pseudo_inputs: nn.Parameter | None = None
        self.encoder: tuple[nn.Module, ...] = ()

    def bind_encoder(self, encoder: nn.Module, shape: Shape) -> None:
        # In a tuple: as a part of this module, its weights would be saved and updated twice.
        self.encoder = (encoder,)
        image = len(shape) == 3
        start = (torch.rand if image else torch.randn)(self.spec.components, *shape)
        self.pseudo_inputs = nn.Parameter(start)

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> VampPosterior:
        normal = self.coordinates.posterior(parameters, step, level)
        assert isinstance(normal, DiagonalGaussian)
        return VampPosterior(normal, functools.cache(self._components))

    def _components(self) -> DiagonalGaussian:
        if self.pseudo_inputs is None:
            raise HatchelError("latent=vamp has no prior before it meets an encoder: build a model with it")
        inputs = self.pseudo_inputs
        encoded: Encoded = self.encoder[0](inputs.clamp(0, 1) if inputs.ndim == 4 else inputs)
        found = self.coordinates.posterior(encoded.parameters)
        assert isinstance(found, DiagonalGaussian)
        return found


class VampPosterior(Posterior):
    """N(mu, diag sigma^2) for each of B inputs, against a mixture of K such distributions."""

    continuous = True
    factorised_prior = False

    def __init__(self, normal: DiagonalGaussian, components: Callable[[], DiagonalGaussian]) -> None:
        """`components`: asked for only where something reads the prior."""
        self.normal = normal
        self.components = components
        self.groups = normal.groups

    @property
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """mu: (B, D)."""
        return self.normal.mean

    @property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """sigma^2: (B, D)."""
        return self.normal.variance

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps."""
        return self.normal.rsample(generator)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """As without the mixture."""
        return self.normal.log_prob(z, block)

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """As without the mixture."""
        return self.normal.cross_log_prob(z, blocks)

    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log 1/K sum_k N(z_block; mu(u_k), sigma^2(u_k))."""
        components = self.components()
        under_each = components.cross_log_prob(z, (block,))[0]  # (B, K)
        return under_each.logsumexp(1) - math.log(components.mean.shape[0])

    def kl(self) -> None:
        """A mixture has none in closed form."""
        return

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The posteriors changed; the prior belongs to no input."""
        return type(self)(self.normal.map_tensors(change), self.components)
