"""Assigned: Gaussian coordinates and a class that no encoder gives: it is found by trying the decoder; CascadeVAE's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Self

import numpy as np
import torch
from annotated_types import Ge
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.cached import cached
from hatchel.core.distributed import gather, own_rows
from hatchel.core.spec import NonNegative
from hatchel.latents.diagonal import Diagonal, DiagonalGaussian, StandardNormal
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout, Partition, plain_layout
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior


class Assigned(Latent):
    """z from the encoder, and d, a class, from the decoder (Jeong & Song 2019, Eqs. 8-10).

    The d of a batch minimise sum_i -log p(x_i|z_i, d_i) + balance sum_{i != j} [d_i = d_j], a min-cost flow; they are
    constants of the step. After training each item takes the class that explains it best. The costs are read at the
    posterior mean of z, in training as after it (the paper reads them at a draw), so that both agree.
    """

    over: Diagonal = Diagonal()
    """The coordinates."""
    classes: Annotated[int, Ge(2)] = 3
    """K."""
    balance: NonNegative = 0.001
    """Price of every two items of a batch in one class."""
    warmup: Annotated[int, Ge(0)] = 0
    """Steps in which d is left undecided, the same for all items."""

    @property
    def layout(self) -> Layout:
        return Layout.of({"z": (1,) * self.over.dim, "class": (self.classes,)})

    @property
    def widths(self) -> tuple[int, ...]:
        return (*self.over.widths, 0)

    def build(self) -> LatentModule:
        return _AssignedModule(self)


def assignment(costs: NDArray[np.float64], balance: float) -> NDArray[np.int64]:
    """The classes (B,) that minimise sum_i costs[i, d_i] + balance sum_{i != j} [d_i = d_j], exactly.

    n items in a class pay balance n (n - 1) = sum_{k < n} 2 balance k: the flow's k-th place in a class costs
    2 balance k more, and places never fill out of order.

    >>> assignment(np.zeros((4, 2)), 1.0).tolist().count(0)
    2
    >>> assignment(np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 3.0]]), 0.3).tolist()
    [1, 0, 0]
    """
    from scipy.optimize import linear_sum_assignment

    items, classes = costs.shape
    places = 2 * balance * np.arange(items)
    priced = (costs[:, :, None] + places).reshape(items, classes * items)
    chosen: NDArray[Any] = linear_sum_assignment(priced)[1]
    return chosen // items


class _AssignedModule(LatentModule):
    solves_on_host = True

    def __init__(self, spec: Assigned) -> None:
        super().__init__(spec.layout)
        self.spec = spec

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> AssignedPosterior:
        mean, log_variance = parameters.unflatten(1, (-1, 2)).unbind(2)
        even = mean.new_full((mean.shape[0], self.spec.classes), 1 / self.spec.classes)
        return AssignedPosterior(DiagonalGaussian(mean, log_variance), even, self.layout)

    def prior_at(self, step: int | None = None) -> Prior:
        return AssignedPrior(self.layout)

    def refine(self, q: Posterior, log_px: Callable[[Tensor], Tensor], step: int | None) -> Posterior:
        assert isinstance(q, AssignedPosterior)
        if step is not None and step < self.spec.warmup:
            return q
        with torch.no_grad():
            rows, units = q.normal.mean.shape[0], torch.eye(self.spec.classes).to(q.normal.mean)
            tried = [log_px(torch.cat([q.normal.mean, one.expand(rows, -1)], 1)) for one in units]
            costs = -torch.stack(tried, 1)  # (B, K)
            if self.training:
                whole = gather(costs).double().cpu().numpy()
                best = own_rows(torch.from_numpy(assignment(whole, self.spec.balance))).to(costs.device)
            else:
                best = costs.argmin(1)
        return AssignedPosterior(q.normal, units[best], self.layout)


class AssignedPrior(Prior):
    """N(0, I), and classes with equal probabilities."""

    standard = True

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.dim, self.classes = len(layout.coordinates), layout.sites[-1].classes
        self.normal = StandardNormal(plain_layout(self.dim))

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        total = self.normal.log_prob(z, tuple(s for s in block if s < self.dim))
        return total - math.log(self.classes) if self.dim in block else total

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        coordinates = self.normal.sample(n, generator)
        chosen = torch.randint(self.classes, (n,), generator=generator)
        return torch.cat([coordinates, F.one_hot(chosen, self.classes).to(coordinates)], 1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        assert isinstance(q, AssignedPosterior)
        own = math.log(self.classes) + _log_mass(q.classes, q.classes)
        return torch.cat([self.normal.kl(q.normal, z), own[:, None]], 1)


class AssignedPosterior(Posterior):
    """Normal coordinates and a class with given probabilities: 1 and 0 once it is assigned, even before."""

    def __init__(self, normal: DiagonalGaussian, classes: Tensor, layout: Layout) -> None:
        self.normal = normal
        self.classes = classes  # (B, K), without gradient
        self.layout = layout
        self.dim = normal.mean.shape[1]

    @cached
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return torch.cat([self.normal.mean, self.classes], 1)

    @cached
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return torch.cat([self.normal.variance, self.classes * (1 - self.classes)], 1)

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps; d as it was assigned."""
        return torch.cat([self.normal.rsample(generator), self.classes], 1)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        total = self.normal.log_prob(z, self._coordinates(block))
        return total + _log_mass(z[:, self.dim :], self.classes) if self.dim in block else total

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        coordinates = tuple(self._coordinates(block) for block in blocks)
        normal = self.normal.cross_log_prob(z[:, : self.dim], coordinates)
        classes = _log_mass(z[:, None, self.dim :], self.classes[None])  # (R, B)
        return torch.stack([n + classes if self.dim in b else n for n, b in zip(normal, blocks, strict=True)])

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(self.normal.map_tensors(change), change(self.classes), self.layout)

    def _coordinates(self, block: Block) -> Block:
        return tuple(s for s in block if s < self.dim)


def _log_mass(z: Tensor, classes: Tensor) -> Tensor:
    """sum_k z_k log p_k, with 0 log 0 = 0: over the last axis."""
    return torch.where(z > 0, z * classes.log(), 0.0).sum(-1)
