"""The family of estimators, and what they compare: sites of the code, pairs of features, whole items."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.core.distributed import gather
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec
from hatchel.latents.layout import Layout, Partition
from hatchel.nets.part import Shape
from hatchel.objective.trace import Trace


@dataclass(frozen=True)
class Items:
    """What a discriminator compares: the joint's samples are the generated items, the product's the data's."""


Layers = tuple[tuple[int, int], tuple[int, int]]
"""Members and their width, of the left and of the right layer."""
CODE = "z"
"""The name of the last layer: the drawn code."""


@dataclass(frozen=True)
class Pairs:
    """Every pair (i, j), i != j, of a member of one layer and a member of another; in one layer each pair once."""

    left: str
    """A feature of the encoder, (B, members, ...), or `CODE`."""
    right: str
    shared: bool = True
    """One network for all of these pairs, which is told the pair; else one for each."""
    grid: int | None = 1
    """Maps are averaged over the cells of a grid with so many cells a side; None: flattened."""
    standardised: bool = True
    """Every number of a member is brought to mean 0 and variance 1 over the batch of all ranks."""
    together: int = 1
    """Sites of the code that make one member."""

    def index(self, left: int, right: int) -> Tensor:
        """The pairs, for so many members: (P, 2)."""
        pairs = torch.cartesian_prod(torch.arange(left), torch.arange(right))
        i, j = pairs.unbind(1)
        return pairs[i < j] if self.left == self.right else pairs[i != j]

    def members(self, name: str, layout: Layout, z: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        """Those of the layer of that name: (B, members, width)."""
        rows = self._code(layout, z) if name == CODE else self._cells(features[name])
        return standardised(rows) if self.standardised else rows

    def _code(self, layout: Layout, z: Tensor) -> Tensor:
        columns = [z[:, c] for c in self._columns(layout)]
        width = max(c.shape[1] for c in columns)
        # A narrow member is filled up with zeros, which say nothing.
        return torch.stack([F.pad(c, (0, width - c.shape[1])) for c in columns], 1)

    def _cells(self, feature: Tensor) -> Tensor:
        if self.grid is None or feature.ndim < 5:
            return feature.flatten(2)
        # Sums over parts of a map, one number after the other, take nine times as long as this product.
        rows, columns = (
            F.adaptive_avg_pool1d(torch.eye(side, dtype=feature.dtype, device=feature.device), min(self.grid, side))
            for side in feature.shape[3:]
        )
        return (feature.flatten(3) @ torch.kron(rows, columns)).flatten(2)

    def size(self, name: str, layout: Layout, features: Mapping[str, Shape]) -> tuple[int, int]:
        """How many members that layer has, and the width of each, from the features' shapes (members, ...)."""
        if name == CODE:
            columns = self._columns(layout)
            return len(columns), max(map(len, columns))
        if name not in features:
            raise HatchelError(
                f"this encoder has no feature {name} (it has {', '.join(features) or 'none'}); set encoder=recursive, "
                "deep enough to have it, or leave `modules` out for pairs of the code alone"
            )
        shape = features[name]
        if len(shape) < 2:
            raise HatchelError(f"the feature {name} has no members to pair: its shape is {shape}")
        if self.grid is not None and len(shape) == 4:
            shape = (*shape[:2], *(min(self.grid, side) for side in shape[2:]))
        return shape[0], math.prod(shape[1:])

    def _columns(self, layout: Layout) -> list[list[int]]:
        """The columns of z of each member of the code."""
        sites = layout.whole
        return [layout.columns(sites[k : k + self.together]) for k in range(0, len(sites), self.together)]


def standardised(x: Tensor) -> Tensor:
    """Each number of a row to mean 0 and variance 1 over the batch of all ranks, (B, ...), with gradient.

    Information does not depend on units, and a critic sees in any; a number that is constant becomes 0.
    """
    batch = gather(x)
    variance, mean = torch.var_mean(batch, 0, correction=0)
    return (x - mean) * (variance + 1e-6).rsqrt()


class Estimator(Spec, ABC, family="estimator", home="hatchel.objective.estimators"):
    """How log q(z), or a ratio of such densities, is had."""

    def accepts(self, layout: Layout) -> str:
        """Why this latent cannot be estimated so; empty where it can."""
        return ""


class Density(Estimator, ABC):
    """Gives log q(z_block) itself; every term is then a difference of the same marginals, so that they telescope."""

    @abstractmethod
    def log_q(self, t: Trace, blocks: Partition) -> Tensor:
        """log q(z_i,block), the aggregate posterior's log-density at this rank's codes: (len(blocks), B)."""


class Critic(Estimator, ABC):
    """Gives log q(joint) - log q(product) from a network of its own that learns to tell the two apart."""

    differentiates_product: ClassVar[bool] = False
    """Whether the model's loss also has a gradient through the product's samples (Donsker-Varadhan: yes)."""

    @property
    def needs(self) -> frozenset[str]:
        """What it reads of a trace beside the batch itself: `independent`, where the product's samples come from it."""
        return frozenset()

    def product_source(self, t: Trace) -> Tensor:
        """The codes of all ranks whose blocks are permuted to give the product's samples, without gradient."""
        return gather(t.z.detach())

    @abstractmethod
    def build(self, width: int) -> CriticModule:
        """The network, for joint samples of `width` numbers."""

    def build_pairs(self, layers: Layers, index: Tensor, shared: bool) -> CriticModule:
        """The network for all pairs (P, 2) of the members of two layers at once, which come in one row."""
        raise HatchelError(f"{self.kind} cannot compare pairs of features; use by=mine")

    def build_items(self, shape: Shape) -> CriticModule:
        """The network for whole items, generated or the data's."""
        raise HatchelError(f"{self.kind} cannot compare items; use critic=discriminator")


class CriticModule(nn.Module, ABC):
    """The network of a critic. `forward` is read by the model with detached parameters; `loss` teaches the network."""

    def begin(self, seed: int, step: int) -> None:
        """Called before the readings and lessons of a step, for what a network draws anew at each."""

    @abstractmethod
    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        """The estimate of log q(joint) / q(product): (B,) or a scalar. Both arguments are (B, width)."""

    @abstractmethod
    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        """What the network minimises, on detached samples, per row (B,) or as a scalar of the whole batch."""

    def both(self, joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor] | None:
        """`forward` with detached parameters and `loss` on detached samples, where one pass gives both for less."""
        return None
