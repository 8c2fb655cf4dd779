"""DynamicVAE: Wu et al. 2023's gains, and a controller whose state outlives an interruption."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from hatchel.methods.resolve import resolve
from hatchel.objective.weights import IncrementalPI
from hatchel.training.run import train

DATA = "xy_squares"


def test_settings() -> None:
    spec = resolve("dynamic_vae", DATA, {"steps": 300_000})
    weight = spec.objective["kl"].weight
    assert isinstance(weight, IncrementalPI)
    assert (weight.kp, weight.ki, weight.initial, weight.high, weight.window) == (0.01, 0.001, 150, 150, 5)
    assert spec.optimizer.lr == 1e-4
    assert "set point 0.5->20 nats" in spec.formula()


def test_resume_keeps_the_controller(tmp_path: Path) -> None:
    spec = resolve("dynamic_vae", DATA, {"period": 3, "ramp": 2, "increment": 1, "ki": 0.5}).with_fields(batch_size=16)

    def state(folder: str) -> torch.Tensor:
        (last,) = (tmp_path / folder / "checkpoints").glob("step-*8")
        found = {k: v for f in last.glob("*.safetensors") for k, v in load_file(f).items() if k.endswith("state_kl")}
        (value,) = found.values()
        return value

    train(spec, steps=8, out=tmp_path / "whole", progress=False)
    train(spec, steps=5, out=tmp_path / "parts", progress=False)
    train(spec, steps=8, out=tmp_path / "parts", resume=True, progress=False)
    assert torch.equal(state("whole"), state("parts"))
    assert float(state("whole")[0]) != 150
    assert float(state("whole")[2]) == 5
