from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hatchel.latents.diagonal import Diagonal
from hatchel.latents.likelihoods import Columns
from hatchel.methods.resolve import resolve
from hatchel.training.checkpoint import Description, save
from hatchel.training.run import TrainedRun


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """torch traces its exporter to any logger that listens, as pytest's does: most of the time would go there."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True, scope="package")
def _one_registry() -> Iterator[None]:
    """torch's exporter parses the source of all its 500 operators at every export: nearly half of the time."""
    pytest.importorskip("onnxscript")
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    whole = ONNXRegistry.from_torchlib
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(functools.cache(whole)))
        yield


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., TrainedRun]:
    """A run as it would lie in a folder after 7 steps, with arbitrary weights instead of trained ones."""

    def make(shape: tuple[int, ...] = (1, 16, 16), columns: Columns | None = None, **parts: Any) -> TrainedRun:
        chosen = {"latent": Diagonal(3), **parts}
        spec = resolve("vae", "xy_squares").with_fields(**chosen).fit_to_shape(shape, columns)
        system = spec.build(shape)
        draw = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for tensor in system.model.latent.parameters():  # maps that start as the identity would hide mistakes
                tensor.add_(torch.randn(tensor.shape, generator=draw) / 2)
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        description = Description(spec, shape, 64, "0")
        description.write(folder)
        save(folder, 7, system, None)
        return TrainedRun(folder, description, system.model, 7)

    return make
