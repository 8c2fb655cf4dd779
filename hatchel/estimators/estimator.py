"""The family of estimators: two ways to compare a joint with a product over a partition of latent sites."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from hatchel.distributed import gather
from hatchel.errors import HatchelError
from hatchel.estimators.pairs import Layers
from hatchel.nets.part import Shape
from hatchel.spec import Spec
from hatchel.trace import Partition, Posterior, Trace


class Estimator(Spec, ABC, family="estimator", home="hatchel.estimators"):
    """How log q(z), or a ratio of such densities, is had."""

    def accepts(self, q: Posterior) -> str:
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
    def wants_independent_batch(self) -> bool:
        """Whether the product's samples come from a second batch."""
        return False

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

    @abstractmethod
    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        """The estimate of log q(joint) / q(product): (B,) or a scalar. Both arguments are (B, width)."""

    @abstractmethod
    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        """What the network minimises, on detached samples, per row (B,) or as a scalar of the whole batch."""
