"""LadderVAE: its warm-up, its parts, and a trained run's code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import evaluate
from hatchel.latents.ladder import Ladder
from hatchel.methods.resolve import resolve
from hatchel.nets.ladder import LadderEncoder
from hatchel.objective.weights import Ramp
from hatchel.training.run import TrainedRun, train

DATA = XYSquares(size=32)


def test_settings() -> None:
    spec = resolve("ladder_vae", DATA, {"layers": (8, 4, 2), "warmup": 7})
    assert spec.latent == Ladder((8, 4, 2))
    assert spec.encoder == LadderEncoder((8, 4, 2))
    assert spec.objective["kl"].weight == Ramp(0, 1, 7)


def test_codes_are_all_layers_means_top_first(tmp_path: Path) -> None:
    spec = resolve("ladder_vae", DATA, {"layers": (3, 2), "warmup": 4})
    run = train(spec, steps=6, batch_size=8, out=tmp_path, progress=False)
    images = run.data.images(np.arange(12))
    codes = run.encode(images)
    numbers = run.model.encoder(torch.from_numpy(images.astype(np.float32) / 255).permute(0, 3, 1, 2)).parameters
    np.testing.assert_allclose(codes[:, :2], numbers[:, [0, 2]].detach().numpy(), rtol=1e-4, atol=1e-5)
    assert codes.shape == (12, 5)
    # The lowest layer alone makes the picture.
    other = codes.copy()
    other[:, :2] += 1
    np.testing.assert_array_equal(run.decode(other), run.decode(codes))
    np.testing.assert_array_equal(TrainedRun.load(tmp_path).encode(images), codes)
    assert list(evaluate(run, ["mig"], items=60, store=False)) == ["mean", "sample"]
