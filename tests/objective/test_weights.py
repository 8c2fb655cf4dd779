from __future__ import annotations

import math

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.objective.weights import PI, Capacity, Constant, Cyclic, IncrementalPI, Ramp, Weight

NONE = torch.zeros(0, dtype=torch.float64)
VALUE = torch.tensor(3.0)


def contribution(weight: Weight, step: int) -> float:
    return float(weight.apply(VALUE, step, NONE))


def test_constant_and_number() -> None:
    assert contribution(Constant(2), 5) == 6
    assert from_dict(Weight, 2) == Constant(2.0)
    assert from_dict(Weight, to_dict(Ramp(0, 4, 10))) == Ramp(0, 4, 10)


@pytest.mark.parametrize(("step", "expected"), [(0, 1), (100, 1), (150, 2), (200, 3), (999, 3)])
def test_ramp(step: int, expected: float) -> None:
    assert contribution(Ramp(1, 3, 100, delay=100), step) == pytest.approx(3 * expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 8), (100, 8), (150, 4), (200, 2), (250, 1), (999, 1)])
def test_a_geometric_ramp_halves_in_equal_times(step: int, expected: float) -> None:
    assert contribution(Ramp(8, 1, 150, delay=100, curve="geometric"), step) == pytest.approx(3 * expected)


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
    with pytest.raises(HatchelError, match="curve: geometric goes by factors"):
        Ramp(start=0, curve="geometric")
    with pytest.raises(HatchelError, match="expected a weight"):
        from_dict(Weight, True)


def test_the_dynamic_set_point_grows_by_increments() -> None:
    """0 for one period, then 0.45 more over the first 1000 steps of each of the next: 18 after 201,000 steps."""
    weight = IncrementalPI()
    steps = [0, 4999, 5000, 5500, 6000, 9999, 10_500, 200_000, 201_000, 10**7]
    expected = [0, 0, 0, 0.225, 0.45, 0.45, 0.675, 17.55, 18, 18]
    assert [weight.at(s) for s in steps] == pytest.approx(expected)
    jump = IncrementalPI(target=2, start=1, increment=0.5, period=10, ramp=1)
    assert [jump.at(s) for s in (9, 11, 20, 21, 99)] == pytest.approx([1, 1.5, 1.5, 2, 2])


def test_the_dynamic_beta_by_hand() -> None:
    """Errors 2-1, 2-(1+4)/2, 2-(4+4)/2 with a window of two; e before the first step is 0."""
    weight = IncrementalPI(target=2, start=2, window=2, kp=0.3, ki=0.1, initial=10, high=20)
    state = weight.initial_state()
    value = torch.tensor([1.0, 4.0, 4.0], requires_grad=True)

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    expected = 10.0
    for step, (error, before) in enumerate([(1.0, 0.0), (-0.5, 1.0), (-2.0, -0.5)]):
        expected += 0.3 * (sigmoid(-error) - sigmoid(-before)) - 0.1 * error
        found = weight.apply(value[step], step, state)
        assert found.item() == pytest.approx(expected * value[step].item(), rel=1e-6)
        assert float(state[0]) == pytest.approx(expected, rel=1e-12)
    found.backward()
    assert value.grad[2].item() == pytest.approx(expected, rel=1e-6)  # beta itself has no gradient


def test_the_dynamic_beta_comes_back_from_its_bounds_at_once() -> None:
    weight = IncrementalPI(target=1, start=1, window=1, kp=0, ki=0.1, initial=2, low=0.5, high=2)
    state = weight.initial_state()
    for step in range(1000):
        weight.apply(torch.tensor(50.0), step, state)
    assert float(state[0]) == 2
    weight.apply(torch.tensor(0.0), 1000, state)
    assert float(state[0]) == pytest.approx(1.9)
    for step in range(1000):
        weight.apply(torch.tensor(-1e6), step, state)
    assert float(state[0]) == 0.5


def test_the_dynamic_controller_leads_a_plant_along_its_set_points() -> None:
    """A KL that answers beta as 4 / beta: at the end of each increment's period it stands at the set point."""
    weight = IncrementalPI(target=4, start=1, increment=1, period=4000, ramp=500, ki=0.02, initial=30, high=30)
    state, value, reached = weight.initial_state(), 0.1, []
    for step in range(20_000):
        weight.apply(torch.tensor(value), step, state)
        value += 0.05 * (4 / float(state[0]) - value)
        if step % 4000 == 3999:
            reached.append(value)
    assert reached == pytest.approx([1, 2, 3, 4, 4], rel=0.02)


def test_bad_increments_are_refused() -> None:
    with pytest.raises(HatchelError, match="initial: must lie between low and high"):
        IncrementalPI(initial=200)
    with pytest.raises(HatchelError, match="ramp: must be at most the period"):
        IncrementalPI(period=10, ramp=11)
    with pytest.raises(HatchelError, match="start: must be at most the target"):
        IncrementalPI(start=30)
