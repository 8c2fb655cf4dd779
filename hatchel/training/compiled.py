"""The loss of a whole step as one graph of torch's compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from hatchel.core import distributed
from hatchel.core.errors import HatchelError
from hatchel.core.streams import Given, Recorder
from hatchel.objective.evaluator import Samples
from hatchel.objective.objective import Loss
from hatchel.objective.trace import Batch
from hatchel.training.model import System
from hatchel.training.spec import RunSpec


def recorded(system: System, batch: Batch) -> Recorder:
    """What a step asks of streams and schedules, found by a forward pass, after which all is as it was."""
    recorder, before = Recorder(), [buffer.clone() for buffer in system.buffers()]
    levels = system.model.latent.train_levels(batch.seed, batch.step)
    with torch.no_grad(), recorder:
        system(batch, levels)
    for buffer, value in zip(system.buffers(), before, strict=True):
        buffer.data.copy_(value)
    return recorder


def loss_of(system: System, spec: RunSpec) -> Callable[[Batch], Loss]:
    """The loss of a batch, compiled if the spec says so."""
    several = distributed.world() > 1
    if spec.compile and not several and not system.model.latent.solves_on_host:
        return CompiledLoss(system)
    if spec.compile:
        system.model.encoder.compile()
        system.model.decoder.compile()
    return DistributedDataParallel(system) if several else system


class CompiledLoss:
    """batch -> loss, compiled once for each shape of a batch and each set of levels.

    Draws come from generators, which the compiler does not trace: they are made before and handed in, and so is what
    schedules say, which else would be compiled in. They are the numbers of the step that is not compiled.
    """

    def __init__(self, system: System, backend: str | Callable[..., Any] = "inductor") -> None:
        self._system, self._backend = system, backend
        self._known: dict[object, tuple[Recorder, Callable[..., Any]]] = {}

    def __call__(self, batch: Batch) -> Loss:
        levels = self._system.model.latent.train_levels(batch.seed, batch.step)
        key = levels, batch.x.shape
        if key not in self._known:
            self._known[key] = recorded(self._system, batch), self._compiled()
        asked, compiled = self._known[key]
        draws, said = asked.drawn(batch.seed, batch.step), asked.said(batch.step)
        try:
            parts, samples = compiled(self._system, batch, levels, draws, asked.names, said)
        except Exception as error:
            if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise
            reason = str(error).strip().partition("\n")[0]
            if type(error).__name__ == "FailOnRecompileLimitHit":
                reason = "a part changes with every step and does not ask by hatchel.core.streams.scheduled"
            raise HatchelError(f"compile: torch cannot compile this step ({reason}); set compile=false") from error
        return Loss(*parts, samples={name: Samples(*found) for name, found in samples.items()})

    def _compiled(self) -> Callable[..., Any]:
        # torch keeps what it compiled with the code, and not too much of it: so each has a copy of the code.
        own = FunctionType(_parts.__code__.replace(), globals())
        return torch.compile(own, fullgraph=True, dynamic=False, backend=self._backend)


def _parts(
    system: System,
    batch: Batch,
    levels: tuple[int, ...],
    draws: Sequence[Tensor],
    names: Sequence[str],
    said: Sequence[Tensor],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Those of a loss: the compiler gives back no frozen dataclass within another."""
    with Given(draws, names, said):
        loss: Loss = system(batch, levels)
    samples = {name: (s.joint, s.source, s.widths) for name, s in loss.samples.items()}
    return (loss.total, loss.objective, loss.terms, loss.critics, loss.readings), samples
