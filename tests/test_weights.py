from __future__ import annotations

import math

import pytest
import torch

from hatchel.errors import HatchelError
from hatchel.spec import decode, encode
from hatchel.weights import PI, Capacity, Constant, Cyclic, Ramp, Weight

NONE = torch.zeros(0, dtype=torch.float64)
VALUE = torch.tensor(3.0)


def contribution(weight: Weight, step: int) -> float:
    return float(weight.apply(VALUE, step, NONE))


def test_constant_and_number() -> None:
    assert contribution(Constant(2), 5) == 6
    assert decode(Weight, 2) == Constant(2.0)
    assert decode(Weight, encode(Ramp(0, 4, 10))) == Ramp(0, 4, 10)


@pytest.mark.parametrize(("step", "expected"), [(0, 1), (100, 1), (150, 2), (200, 3), (999, 3)])
def test_ramp(step: int, expected: float) -> None:
    assert contribution(Ramp(1, 3, 100, delay=100), step) == pytest.approx(3 * expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 0), (25, 0.5), (50, 1), (99, 1), (100, 0), (125, 0.5)])
def test_cyclic(step: int, expected: float) -> None:
    assert contribution(Cyclic(0, 1, 100, 0.5), step) == pytest.approx(3 * expected)


@pytest.mark.parametrize(("step", "c"), [(0, 0.5), (50, 2.75), (100, 5), (500, 5)])
def test_capacity_is_an_absolute_distance(step: int, c: float) -> None:
    assert contribution(Capacity(10, 0.5, 5, 100), step) == pytest.approx(10 * abs(3 - c))


def test_pi_first_step_is_the_papers_formula() -> None:
    weight = PI(target=2, start=2, kp=0.01, ki=0.001)
    state = weight.initial_state()
    error = 2 - 3.0
    beta = 0.01 / (1 + math.exp(error)) - 0.001 * error
    assert float(weight.apply(VALUE, 0, state)) == pytest.approx(3 * beta)
    assert float(state[1]) == pytest.approx(beta)


def test_pi_drives_a_value_to_its_set_point() -> None:
    """A value that falls with beta, kl = 30 / (1 + beta), is held at 10 when beta = 2."""
    weight = PI(target=10, start=10, steps=1, high=50)
    state = weight.initial_state()
    beta = 0.0
    for step in range(20_000):
        weight.apply(torch.tensor(30 / (1 + beta)), step, state)
        beta = float(state[1])
    assert 30 / (1 + beta) == pytest.approx(10, abs=0.05)


def test_pi_does_not_wind_up_at_its_bound() -> None:
    weight = PI(target=1, start=1, low=0, high=0.5)
    state = weight.initial_state()
    for step in range(5000):
        weight.apply(torch.tensor(100.0), step, state)
    assert float(state[1]) <= 0.5
    assert abs(float(state[0])) <= 0.5


def test_bad_weights_are_refused() -> None:
    with pytest.raises(HatchelError, match="low: must be below high"):
        PI(low=2, high=1)
    with pytest.raises(HatchelError, match="steps: input should be greater than 0"):
        Ramp(steps=0)
    with pytest.raises(HatchelError, match="expected a weight"):
        decode(Weight, True)
