"""The loss of a whole step as one graph of torch's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hatchel.core.streams import Given, Recorder
from hatchel.objective.evaluator import Samples
from hatchel.objective.objective import Loss
from hatchel.objective.trace import Batch
from hatchel.training.model import System


def recorded(system: System, batch: Batch) -> Recorder:
    """What a step asks of streams and schedules, found by a forward pass, after which all is as it was."""
    recorder, before = Recorder(), [buffer.clone() for buffer in system.buffers()]
    levels = system.model.latent.train_levels(batch.seed, batch.step)
    with torch.no_grad(), recorder:
        system(batch, levels)
    for buffer, value in zip(system.buffers(), before, strict=True):
        buffer.data.copy_(value)
    return recorder


class CompiledLoss:
    """batch -> loss, compiled once for each shape of a batch and each set of levels.

    Draws come from generators, which the compiler does not trace: they are made before and handed in, and so is what
    schedules say, which else would be compiled in. They are the numbers of the step that is not compiled.
    """

    def __init__(self, system: System, backend: str = "inductor") -> None:
        self._system = system
        self._recorders: dict[object, Recorder] = {}
        self._compiled = torch.compile(self._loss, fullgraph=True, dynamic=False, backend=backend)

    def __call__(self, batch: Batch) -> Loss:
        levels = self._system.model.latent.train_levels(batch.seed, batch.step)
        key = levels, batch.x.shape
        if key not in self._recorders:
            self._recorders[key] = recorded(self._system, batch)
        asked = self._recorders[key]
        draws, said = asked.drawn(batch.seed, batch.step), asked.said(batch.step)
        parts, samples = self._compiled(batch, levels, draws, asked.names, said)
        total, objective, *others = parts
        return Loss(total, objective, *others, samples={name: Samples(*found) for name, found in samples.items()})

    def _loss(
        self, batch: Batch, levels: tuple[int, ...], draws: list[Tensor], names: Sequence[str], said: list[Tensor]
    ) -> tuple[Any, dict[str, Any]]:
        """The parts of a loss: the compiler returns no frozen dataclass within another."""
        with Given(draws, names, said):
            loss = self._system(batch, levels)
        samples = {name: (s.joint, s.source, s.widths) for name, s in loss.samples.items()}
        return (loss.total, loss.objective, loss.terms, loss.critics, loss.readings), samples
