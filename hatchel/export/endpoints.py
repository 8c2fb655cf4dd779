"""Endpoints: a run's encoder and decoder as networks from arrays to arrays, and the check of what was made of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.nets.layers import Upconv
from hatchel.training.model import Model
from hatchel.training.run import TrainedRun

TOLERANCE = 1e-4
"""An export whose outputs differ from the run's by more is refused."""
ITEMS = (1, 5)
"""How many items the check runs at once: one, and as many as no example had."""

Call = Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
"""An export, run: the input array to the output arrays."""


class Endpoint(nn.Module, ABC):
    """Encoder or decoder of a run at one level of its latent, with what surrounds it: units, likelihood, posterior."""

    noun: str
    input: str
    """The input's name."""
    outputs: tuple[str, ...]
    """The outputs' names."""

    def __init__(self, run: TrainedRun, level: int) -> None:
        super().__init__()
        run.decode(np.zeros((0, run.spec.latent.width)), level)  # refuses a level that the latent does not have
        self.run = [run]  # in a list, or torch would take the run's networks for parts of this one
        self.level = level
        self.steps = run.steps
        self.images = len(run.shape) == 3
        self.item = "image" if self.images else "row"
        self.model = plain(copy.deepcopy(run.model).cpu())
        units = (torch.zeros(1), torch.ones(1)) if self.images else run._units  # pyright: ignore[reportPrivateUsage]
        centre, scale = (part.cpu() for part in units)
        self.register_buffer("centre", centre, persistent=False)
        self.register_buffer("scale", scale, persistent=False)

    centre: Tensor
    scale: Tensor

    @abstractmethod
    def example(self, n: int, seed: int = 0) -> Tensor:
        """Inputs to try it on."""

    @abstractmethod
    def expected(self, given: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """What the run itself gives for these inputs."""

    def difference(self, call: Call, where: str) -> float:
        """The largest difference between an export and the run, refused above the tolerance.

        Absolute below 1 and relative above; the values of a table's row are compared in units of their scale.
        """
        worst = 0.0
        for n in ITEMS:
            given = self.example(n, seed=n).numpy()
            for name, found, wanted in zip(self.outputs, call(given), self.expected(given), strict=True):
                if found.shape != wanted.shape:
                    raise HatchelError(f"{where}: {name} has shape {found.shape}, the run gives {wanted.shape}")
                unit = self.scale.numpy() if name == "row" else 1.0
                distance = np.abs(found.astype(np.float64) - wanted) / unit / np.maximum(1, np.abs(wanted) / unit)
                worst = max(worst, float(distance.max()))
        if not worst <= TOLERANCE:  # also where it is NaN
            raise HatchelError(
                f"{where}: its outputs differ from the run's by {worst:.1e}, more than {TOLERANCE:.0e}; not written"
            )
        return worst


def plain(model: Model) -> Model:
    """The model with torch's own transposed convolutions: ours, for fast training, is dozens of operators in a file."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, Upconv):
                setattr(parent, name, child.kernels)
    return model


class DecoderEndpoint(Endpoint):
    """z (n, D) -> E[x|z], images (n, C, H, W), or rows (n, F) in the data's own units and double precision."""

    noun = "decoder"
    input = "z"

    @property
    def outputs(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return (self.item,)

    def forward(self, z: Tensor) -> Tensor:
        mean = self.model.decode(z, self.level)
        return mean if self.images else mean * self.scale + self.centre

    def example(self, n: int, seed: int = 0) -> Tensor:
        return torch.randn(n, self.run[0].spec.latent.width, generator=torch.Generator().manual_seed(seed))

    def expected(self, given: NDArray[Any]) -> Sequence[NDArray[Any]]:
        found = self.run[0].decode(given, self.level)
        return (found.transpose(0, 3, 1, 2) if self.images else found,)


class EncoderEndpoint(Endpoint):
    """Images (n, C, H, W) in [0, 1], or rows (n, F) in the data's own units -> mean and deviation of q(z|x), (n, D)."""

    noun = "encoder"
    outputs = ("mean", "std")

    @property
    def input(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.item

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scaled = x if self.images else ((x - self.centre) / self.scale).float()
        q = self.model.encode(scaled, self.steps, self.level)[0]
        return q.mean, q.variance.sqrt()

    def example(self, n: int, seed: int = 0) -> Tensor:
        # Images of uniform noise; rows with the mean and spread of each column.
        draw = torch.Generator().manual_seed(seed)
        if self.images:
            return torch.rand(n, *self.run[0].shape, generator=draw)
        return torch.randn(n, *self.run[0].shape, generator=draw, dtype=torch.float64) * self.scale + self.centre

    def expected(self, given: NDArray[Any]) -> Sequence[NDArray[Any]]:
        return self.run[0].posterior(given.transpose(0, 2, 3, 1) if self.images else given, self.level)
