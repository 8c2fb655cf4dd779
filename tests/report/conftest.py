"""Runs that took no time to train, of every kind of latent, and one on data of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hatchel.data.dataset import Dataset
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.likelihoods import Gaussian
from hatchel.methods.resolve import resolve
from hatchel.report.findings import Findings, analyse
from hatchel.training.checkpoint import Description
from hatchel.training.run import TrainedRun, train


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    spec = resolve("beta_tcvae", XYSquares(size=16, places=8)).with_fields(
        steps=30, batch_size=16, latent=Diagonal(4), log_every=5
    )
    return train(spec, out=tmp_path_factory.mktemp("report") / "run", progress=False)


@pytest.fixture(scope="session")
def found(run: TrainedRun) -> Findings:
    return analyse(run, bootstrap=3)


SMALL = XYSquares(size=16, places=4)


def tiny(folder: Path, name: str, data: XYSquares = SMALL, steps: int = 3, seed: int = 0, **symbols: Any) -> Findings:
    """A method trained for a few steps, and examined."""
    spec = resolve(name, data, symbols).with_fields(steps=steps, batch_size=8, seed=seed, log_every=1)
    return analyse(train(spec, out=folder, progress=False), bootstrap=2)


@pytest.fixture(scope="session")
def hierarchy(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Three latent spaces."""
    return tiny(tmp_path_factory.mktemp("report") / "de", "de_vae", dim=3)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """A class of three values and two coordinates with a learned prior."""
    return tiny(tmp_path_factory.mktemp("report") / "hf", "hf_vae", style=2, classes=3, prior="whole")


@pytest.fixture(scope="session")
def recursive(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """An encoder that shows its layers."""
    data = XYSquares(size=32, places=4)
    return tiny(tmp_path_factory.mktemp("report") / "rec", "recurd", data, steps=1)


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> list[Findings]:
    """A method with three seeds, and another."""
    folder = tmp_path_factory.mktemp("report")
    own = [tiny(folder / f"beta{seed}", "beta_vae", seed=seed) for seed in (2, 0, 1)]
    return [*own, tiny(folder / "vae", "vae")]


@pytest.fixture
def unknown(tmp_path: Path) -> Callable[[tuple[int, ...]], TrainedRun]:
    """A run on items of a shape (H, W, C) or (F,), without factors."""

    def make(shape: tuple[int, ...]) -> TrainedRun:
        rng = np.random.default_rng(0)
        items = rng.random((40, *shape)).astype(np.float32)
        data = Dataset("own", (items * 255).astype(np.uint8) if len(shape) == 3 else items)
        spec = resolve("vae", "xy_squares").with_fields(latent=Diagonal(3), likelihood=Gaussian())
        spec = spec.fit_to(data)
        made = TrainedRun(tmp_path, Description(spec, data.shape, 40, ""), spec.build(data.shape).model, 0)
        made._data = data
        return made

    return make
