"""DynamicVAE, and ControlVAE beside it: the set points are reached, and their controllers outlive an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hatchel.methods.resolve import resolve
from hatchel.objective.weights import PI, IncrementalPI
from hatchel.training.run import train

DATA = "xy_squares"


def test_settings() -> None:
    spec = resolve("dynamic_vae", DATA, {"steps": 300_000})
    weight = spec.objective["kl"].weight
    assert isinstance(weight, IncrementalPI)
    assert (weight.kp, weight.ki, weight.initial, weight.high, weight.window) == (0.01, 0.001, 150, 150, 5)
    assert (weight.start, weight.target, weight.increment, weight.period, weight.low) == (0, 18, 0.45, 5000, 1)
    assert spec.optimizer.lr == 1e-4
    assert "set point 0->18 nats" in spec.formula()


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("dynamic_vae", 3_000),
        ("dynamic_vae", 30_000),
        pytest.param("dynamic_vae", 300_000, marks=pytest.mark.slow),  # half a minute of 300,000 small tensors
        ("control_vae", 3_000),
        ("control_vae", 30_000),
    ],
)
def test_the_bottleneck_opens_at_any_number_of_steps(method: str, steps: int) -> None:
    """A KL that follows 40 / (1 + beta / 10) with a lag of 50 steps is at the set point of 18 nats, beta = 110 / 9.

    Two thirds into the training the set point is there too, and a third into it half the way.
    """
    weight = resolve(method, DATA, {"steps": steps}).objective["kl"].weight
    assert isinstance(weight, IncrementalPI | PI)
    place = 0 if isinstance(weight, IncrementalPI) else 1
    state, value, values = weight.initial_state(), 0.1, list[float]()
    for step in range(steps):
        weight.apply(torch.tensor(value), step, state)
        value += (40 / (1 + float(state[place]) / 10) - value) / 50
        values.append(value)
    assert weight.at(round(0.68 * steps)) == pytest.approx(18)
    assert values[steps // 3] == pytest.approx(weight.at(steps // 3), abs=1)
    assert values[-steps // 10 :] == pytest.approx([18] * (steps // 10), abs=0.1)
    assert float(state[place]) == pytest.approx(110 / 9, rel=0.01)
    if method == "dynamic_vae":
        assert [weight.at(share * steps // 60) for share in (0, 1, 2, 20, 41)] == pytest.approx(
            [0, 0, 0.45, 0.45 * 19, 18], abs=0.01
        )


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
