"""DynamicVAE, and ControlVAE beside it: the set points are reached, and their controllers outlive an interruption."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path

import numpy as np
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


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class ByHand:
    """The two controllers in plain numbers: a hundred times as fast as tensors of one number."""

    def __init__(self, weight: IncrementalPI | PI) -> None:
        self.weight = weight
        self.beta, self.before, self.integral = weight.initial_state()[0].item(), 0.0, 0.0
        self.seen: deque[float] = deque(maxlen=weight.window if isinstance(weight, IncrementalPI) else 1)

    def step(self, value: float, step: int) -> float:
        w = self.weight
        self.seen.append(value)
        error = w.at(step) - sum(self.seen) / len(self.seen)
        if isinstance(w, IncrementalPI):
            self.beta += w.kp * (sigmoid(-error) - sigmoid(-self.before)) - w.ki * error
            self.before = error
        else:
            grown = self.integral - w.ki * error
            free = w.kp * sigmoid(-error) + grown + w.low
            if w.low < free < w.high or abs(grown) < abs(self.integral):
                self.integral = grown
            self.beta = w.kp * sigmoid(-error) + self.integral + w.low
        self.beta = min(max(self.beta, w.low), w.high)
        return self.beta


@pytest.mark.parametrize("steps", [3_000, 30_000, 300_000])
@pytest.mark.parametrize("method", ["dynamic_vae", "control_vae"])
def test_the_bottleneck_opens_at_any_number_of_steps(method: str, steps: int) -> None:
    """A KL that follows 40 / (1 + beta / 10) with a lag of 50 steps is at the set point of 18 nats, beta = 110 / 9.

    Two thirds into the training the set point is there too, and a third into it half the way. The first 3,000 steps are
    compared with the weight's own, which would take minutes for all of them.
    """
    weight = resolve(method, DATA, {"steps": steps}).objective["kl"].weight
    assert isinstance(weight, IncrementalPI | PI)
    place = 0 if isinstance(weight, IncrementalPI) else 1
    state, hand, beta, value, values = weight.initial_state(), ByHand(weight), 0.0, 0.1, list[float]()
    for step in range(steps):
        beta = hand.step(value, step)
        if step < 3_000:
            weight.apply(torch.tensor(value, dtype=torch.float64), step, state)
            assert beta == pytest.approx(float(state[place]), rel=1e-9)
        value += (40 / (1 + beta / 10) - value) / 50
        values.append(value)
    assert weight.at(round(0.68 * steps)) == pytest.approx(18)
    assert values[steps // 3] == pytest.approx(weight.at(steps // 3), abs=1)
    assert np.abs(np.array(values[-steps // 10 :]) - 18).max() < 0.1
    assert beta == pytest.approx(110 / 9, rel=0.01)
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
