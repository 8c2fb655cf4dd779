"""Posterior: q(z|x) for the inputs of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.distributed import gather
from hatchel.latents.layout import Block, Layout, Partition


class Posterior(ABC):
    """q(z|x) for B inputs."""

    layout: Layout
    mean: Tensor  # (B, D); of a discrete site, the class probabilities
    variance: Tensor  # (B, D); of a discrete site, p (1 - p)

    @abstractmethod
    def rsample(self, generator: torch.Generator) -> Tensor:
        """A reparameterised draw (B, D); every rank draws the whole batch's noise and takes its own rows."""

    def draw(self, generator: torch.Generator) -> tuple[Posterior, Tensor]:
        """A draw, and q as it is given what was drawn: itself, unless one site is drawn given another."""
        return self, self.rsample(generator)

    @abstractmethod
    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        """log q(z_i,block | x_i): (B,)."""

    @abstractmethod
    def cross_log_prob(self, z: Tensor, blocks: Partition) -> Tensor:
        """log q(z_i,block | x_j) for R codes and the B inputs here: (len(blocks), R, B)."""

    @abstractmethod
    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The same posteriors with every tensor that has a row for each input changed: sliced, or gathered."""

    def gathered(self) -> Self:
        """The posteriors of the inputs of all ranks, with gradient."""
        return self.map_tensors(gather)

    @property
    def noise(self) -> Tensor | None:
        """(D, D): the correlations of the draws' noise; None where coordinates are independent given x."""
        return None

    def mean_covariance(self) -> Tensor:
        """E_x Cov[z|x] over the inputs here: (D, D)."""
        return torch.diag(self.variance.mean(0))

    def code_log_prob(self, z: Tensor) -> Tensor:
        """log q(z|x) at codes that were drawn from a prior, with every discrete site decided: (B,)."""
        return self.log_prob(z, self.layout.whole)

    def code(self, hard: bool = False) -> Tensor:
        """The representation that metrics read, (B, D): `mean`, or with every discrete site decided if `hard`."""
        if not hard or self.layout.continuous:
            return self.mean
        code = self.mean.clone()
        for s in self.layout.discrete:
            columns = self.layout.columns((s,))
            code[:, columns] = F.one_hot(self.mean[:, columns].argmax(1), len(columns)).to(code)
        return code

    def clusters(self) -> Tensor | None:
        """The most probable class of every discrete site, (B, number of them); None where there is none."""
        if self.layout.continuous:
            return None
        return torch.stack([self.mean[:, self.layout.columns((s,))].argmax(1) for s in self.layout.discrete], 1)


def picked(x: Tensor, columns: Sequence[int]) -> Tensor:
    """x[:, columns]; evenly spaced ones as a view, whose gradient is copied and not scattered number by number."""
    if not columns:
        return x[:, :0]
    first, last = columns[0], columns[-1]
    step = columns[1] - first if len(columns) > 1 else 1
    if step < 1 or tuple(range(first, last + 1, step)) != tuple(columns):
        return x[:, list(columns)]
    return x if len(columns) == x.shape[1] else x[:, first : last + 1 : step]


def unrounded(x: Tensor) -> AbstractContextManager[object]:
    """Where products are made in the precision of their factors: mixed precision would round densities to 8 bits."""
    device = x.device.type
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()
