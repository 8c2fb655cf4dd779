"""CascadeVAE: what it reduces to, and a class in a trained run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import evaluate
from hatchel.latents.assigned import Assigned
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.objective.trace import Batch
from hatchel.training.run import TrainedRun, train

DATA = XYSquares(size=32)


def loss(kind: str, step: int, **fields: object) -> float:
    data = DATA.load()
    system = resolve(kind, DATA, fields).fit_to(data).build(data.shape)
    with torch.no_grad():
        return float(system(Batch(data.reader()(torch.arange(16)), len(data), step)).objective)


def test_all_closed_and_all_open_are_beta_vaes() -> None:
    for step, first, beta in ((0, 0, 10), (0, 10, 2), (95, 1, 2)):
        found = loss("cascade_vae", step, low=2, high=10, every=10, first=first)
        assert found == pytest.approx(loss("beta_vae", step, beta=beta), rel=1e-6)


def test_settings() -> None:
    assert resolve("cascade_vae", DATA).latent == Diagonal(10)
    assert resolve("cascade_vae", DATA, {"classes": 3, "dim": 6, "warmup": 5}).latent == Assigned(
        Diagonal(6), 3, 0.001, 5
    )
    with pytest.raises(HatchelError, match="high: must be at least low"):
        resolve("cascade_vae", changes={"high": 0.5})
    with pytest.raises(HatchelError, match="classes: must be 0"):
        resolve("cascade_vae", changes={"classes": 1})


def test_classes_are_assigned_encoded_and_decoded(tmp_path: Path) -> None:
    spec = resolve("cascade_vae", DATA, {"classes": 3, "dim": 2, "warmup": 3, "balance": 0.1})
    run = train(spec, steps=30, batch_size=16, out=tmp_path, progress=False)
    images = run.data.images(np.arange(40))
    codes = run.encode(images)
    assert codes.shape == (40, 5)
    np.testing.assert_array_equal(np.sort(codes[:, 2:], 1), [[0, 0, 1]] * 40)
    # No other class explains an image better.
    x = torch.from_numpy(images.astype(np.float32) / 255).permute(0, 3, 1, 2)
    with torch.no_grad():
        tries = []
        for k in range(3):
            code = torch.from_numpy(codes.copy())
            code[:, 2:] = torch.eye(3)[k]
            tries.append(run.model.likelihood.log_prob(run.model.decoder(code), x))
    np.testing.assert_array_equal(codes[:, 2:].argmax(1), torch.stack(tries, 1).argmax(1).numpy())
    np.testing.assert_array_equal(TrainedRun.load(tmp_path).encode(images), codes)
    found = evaluate(run, ["mig"], items=100, store=False)
    assert list(found) == ["mean", "sample", "coordinates"]
