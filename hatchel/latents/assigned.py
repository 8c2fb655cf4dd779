"""Assigned: Gaussian coordinates and a class that no encoder gives: it is found by trying the decoder; CascadeVAE's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any, Self

import numpy as np
import torch
from annotated_types import Ge
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.distributed import gather, own_rows
from hatchel.core.spec import NonNegative
from hatchel.latents.diagonal import Diagonal, DiagonalGaussian
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.posterior import Block, Partition, Posterior


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
    def widths(self) -> tuple[int, ...]:
        """Mean and log-variance of each coordinate; nothing for the class."""
        return (*self.over.widths, 0)

    @property
    def width(self) -> int:
        """One number a coordinate, K for the class."""
        return self.over.dim + self.classes

    def build(self) -> LatentModule:
        """No parameters of its own."""
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
    def __init__(self, spec: Assigned) -> None:
        super().__init__()
        self.spec = spec
        self.coordinates = spec.over.build()

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> AssignedPosterior:
        normal = self.coordinates.posterior(parameters, step, level)
        assert isinstance(normal, DiagonalGaussian)
        even = normal.mean.new_full((normal.mean.shape[0], self.spec.classes), 1 / self.spec.classes)
        return AssignedPosterior(normal, even)

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
        return AssignedPosterior(q.normal, units[best])


class AssignedPosterior(Posterior):
    """Normal coordinates and a class with given probabilities: 1 and 0 once it is assigned, even before."""

    continuous = False
    factorised_prior = True
    names = ("z", "class")

    def __init__(self, normal: DiagonalGaussian, classes: Tensor) -> None:
        self.normal = normal
        self.classes = classes  # (B, K), without gradient
        self.dim = normal.mean.shape[1]
        self.groups = (tuple(range(self.dim)), (self.dim,))

    @functools.cached_property
    def mean(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """mu and p: (B, D + K)."""
        return torch.cat([self.normal.mean, self.classes], 1)

    @functools.cached_property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """sigma^2 and p (1 - p): (B, D + K)."""
        return torch.cat([self.normal.variance, self.classes * (1 - self.classes)], 1)

    def rsample(self, generator: torch.Generator) -> Tensor:
        """z = mu + sigma * eps; d as it was assigned."""
        return torch.cat([self.normal.rsample(generator), self.classes], 1)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """Sum over the coordinates; log p_d for the class."""
        total = self.normal.log_prob(z, self._coordinates(block))
        return total + _log_mass(z[:, self.dim :], self.classes) if self.dim in block else total

    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """Every code under every posterior: 0 probability where the classes differ."""
        coordinates = tuple(self._coordinates(block) for block in blocks)
        normal = self.normal.cross_log_prob(z[:, : self.dim], coordinates)
        classes = _log_mass(z[:, None, self.dim :], self.classes[None])  # (R, B)
        return torch.stack([n + classes if self.dim in b else n for n, b in zip(normal, blocks, strict=True)])

    def prior_log_prob(self, z: Tensor, block: Block) -> Tensor:
        """N(0, I) and even classes."""
        total = self.normal.prior_log_prob(z, self._coordinates(block))
        return total - math.log(self.classes.shape[1]) if self.dim in block else total

    def kl(self) -> Tensor:
        """Of the class: log K once it is assigned, 0 before; no gradient either way."""
        own = math.log(self.classes.shape[1]) + _log_mass(self.classes, self.classes)
        return torch.cat([self.normal.kl(), own[:, None]], 1)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Coordinates and classes changed alike."""
        return type(self)(self.normal.map_tensors(change), change(self.classes))

    def columns(self, z: Tensor, block: Block) -> Tensor:
        """One column for a coordinate, K for the class."""
        chosen = [c for s in block for c in ([s] if s < self.dim else range(self.dim, z.shape[1]))]
        return z[:, chosen]

    @property
    def real(self) -> list[int]:
        """Those of the coordinates."""
        return list(range(self.dim))

    def code(self, hard: bool = False) -> Tensor:
        """mu, and the class as a one-hot."""
        if not hard:
            return self.mean
        one_hot = F.one_hot(self.classes.argmax(1), self.classes.shape[1]).to(self.mean)
        return torch.cat([self.normal.mean, one_hot], 1)

    def clusters(self) -> Tensor:
        """The class."""
        return self.classes.argmax(1)[:, None]

    def _coordinates(self, block: Block) -> Block:
        return tuple(s for s in block if s < self.dim)


def _log_mass(z: Tensor, classes: Tensor) -> Tensor:
    """sum_k z_k log p_k, with 0 log 0 = 0: over the last axis."""
    return torch.where(z > 0, z * classes.log(), 0.0).sum(-1)
