"""Ready for another device: every member runs forward and backward on `meta`, where tensors have no values.

So nothing lives elsewhere than its input, and nothing reads a value back, for which a GPU would wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.nets.part import Decoder
from hatchel.objective.estimators.estimator import Density, Estimator
from hatchel.objective.trace import Batch
from hatchel.objective.weights import Weight
from hatchel.training.events import Windows
from hatchel.training.loop import _Meter, make_optimizer
from hatchel.training.spec import RunSpec
from tests.conformance.test_crosses import ENCODERS, LATENTS
from tests.conformance.test_methods import small

SHAPE = (1, 16, 16)
HOST = {"cascade_vae", "assigned"}
"""Whose classes are assigned by a flow through a graph, which is solved on the host."""


def on_meta(spec: RunSpec) -> None:
    """A step without values."""
    system = spec.build(SHAPE).to("meta")
    x = torch.zeros(16, *SHAPE, device="meta")
    labelled = (x, torch.zeros(16, 2, device="meta"))
    loss = system(Batch(x, 1000, 3, 0, x, labelled))
    loss.total.backward()
    assert {p.grad.device.type for p in system.parameters() if p.grad is not None} == {"meta"}
    assert {v.device.type for v in (*loss.terms.values(), *loss.critics.values())} == {"meta"}


@pytest.mark.parametrize("kind", sorted(Method.members().keys() - HOST))
def test_methods(kind: str) -> None:
    on_meta(small(kind))


@pytest.mark.parametrize("kind", sorted(ENCODERS))
def test_encoders(kind: str) -> None:
    on_meta(small("vae", encoder=ENCODERS[kind]))


@pytest.mark.parametrize("kind", sorted(LATENTS.keys() - HOST))
def test_latents(kind: str) -> None:
    on_meta(small("vae", latent=LATENTS[kind]))


DENSITIES = sorted(kind for kind, member in Estimator.members().items() if issubclass(member, Density))


@pytest.mark.parametrize("kind", DENSITIES)
def test_densities(kind: str) -> None:
    on_meta(small("beta_tcvae", objective=resolve("beta_tcvae", "xy_squares", {"by": kind}).objective))


@pytest.mark.parametrize("kind", sorted(Decoder.members()))
def test_decoders(kind: str) -> None:
    on_meta(small("vae", decoder=Decoder.members()[kind]()))


@pytest.mark.parametrize("kind", sorted(Weight.members()))
def test_weights(kind: str) -> None:
    weight = Weight.members()[kind]()
    value = torch.ones((), device="meta")
    assert weight.apply(value, 3, weight.initial_state().to("meta")).device == value.device


class Waits(TorchDispatchMode):
    """Counts what would make a GPU wait: a value read on the host, and outputs whose size depends on values."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "_unique", "unique_dim", "equal", "is_nonzero")

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.count += func.overloadpacket.__name__.startswith(self.NAMES)
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("kind", sorted(Method.members().keys() - HOST))
def test_a_step_waits_for_nothing(kind: str) -> None:
    """Forward, backward and optimiser, the batch being there: the loop reads values where it writes an event."""
    spec = small(kind)
    data = spec.data.load()
    system = spec.build(data.shape)
    optimizer = make_optimizer(system, spec, torch.device("cpu"))
    x = data.reader()(torch.arange(16))
    meter, windows = _Meter({}), Windows(system.objective.independent, {})
    with Waits() as waits:
        for step in range(2):
            loss = system(Batch(x, len(data), step, 0, x))
            loss.total.backward()
            optimizer.step()
            meter.add(loss)
            windows.add(loss.samples)
    with Waits() as read:
        float(x.sum())
    assert (waits.count, read.count) == (0, 1)
