"""The Concrete distribution against torch.distributions, and where float32 ends."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import OneHotCategorical, RelaxedOneHotCategorical
from torch.distributions.relaxed_categorical import ExpRelaxedCategorical
from torch.nn.functional import one_hot

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.latents import concrete
from hatchel.latents.concrete import Temperature


def example(temperature: float, classes: int = 5, rows: int = 6, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(rows, classes, generator=g, dtype=dtype)).log_softmax(1)
    times = torch.empty(rows, classes, dtype=dtype).exponential_(generator=g)
    return logits, concrete.draw(logits, temperature, times)


@pytest.mark.parametrize("temperature", [0.1, 0.66, 1.0, 2.5])
def test_log_density_is_that_of_torch_distributions(temperature: float) -> None:
    logits, z = example(temperature)
    log_z = concrete.log_simplex(z, temperature)
    at = torch.tensor(temperature, dtype=torch.float64)
    expected = RelaxedOneHotCategorical(at, logits=logits, validate_args=False).log_prob(z)
    torch.testing.assert_close(concrete.log_density(log_z, logits, temperature), expected)
    # In logs the density differs by the Jacobian of exp, sum_k log z_k.
    in_logs = ExpRelaxedCategorical(at, logits=logits, validate_args=False).log_prob(log_z)
    torch.testing.assert_close(concrete.log_density(log_z, logits, temperature) + log_z.sum(1), in_logs)


def test_categorical_forms_are_those_of_torch_distributions() -> None:
    logits, z = example(0.66, rows=50)
    categorical = OneHotCategorical(logits=logits)
    largest = one_hot(z.argmax(1), 5).double()
    torch.testing.assert_close(concrete.log_prob(z, logits, 0.66, "pmf"), categorical.log_prob(largest))
    # The soft form is the mean of log p over classes drawn with probabilities z, and the pmf where z is one-hot.
    each = torch.stack([categorical.log_prob(one_hot(torch.full((50,), k), 5).double()) for k in range(5)], 1)
    torch.testing.assert_close(concrete.log_prob(z, logits, 0.66, "soft"), (z * each).sum(1))
    torch.testing.assert_close(concrete.log_prob(largest, logits, 0.66, "soft"), categorical.log_prob(largest))
    relaxed = RelaxedOneHotCategorical(torch.tensor(0.66).double(), logits=logits, validate_args=False)
    torch.testing.assert_close(concrete.log_prob(z, logits, 0.66, "relaxed"), relaxed.log_prob(z))


@pytest.mark.parametrize("form", ["relaxed", "soft", "pmf"])
def test_cross_forms_are_the_forms_pair_by_pair(form: concrete.Form) -> None:
    logits, z = example(0.66)
    cross = concrete.cross_log_prob(z, logits[:4], 0.66, form)
    torch.testing.assert_close(cross, concrete.log_prob(z[:, None], logits[None, :4], 0.66, form))


def test_the_largest_of_a_draw_is_a_draw_of_the_class() -> None:
    """So the mean of the pmf's log-ratio is the KL of the categorical distributions, and the others' means are not."""
    g = torch.Generator().manual_seed(0)
    logits = torch.tensor([2.0, 0.0, -1.0, 0.5]).double().log_softmax(0)
    uniform = torch.full((4,), -math.log(4)).double()
    z = concrete.draw(logits, 0.66, torch.empty(200_000, 4).double().exponential_(generator=g))
    exact = float((logits.exp() * (logits - uniform)).sum())
    forms: tuple[concrete.Form, ...] = ("pmf", "soft", "relaxed")
    pmf, soft, relaxed = (
        float((concrete.log_prob(z, logits, 0.66, f) - concrete.log_prob(z, uniform, 0.66, f)).mean()) for f in forms
    )
    assert pmf == pytest.approx(exact, abs=0.01)
    assert soft < exact - 0.05  # no bound
    assert relaxed > 2 * exact


@pytest.mark.parametrize("temperature", [0.1, 0.66, 2.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cross_density_is_the_density_pair_by_pair(temperature: float, dtype: torch.dtype) -> None:
    logits, z = example(temperature, dtype=dtype)
    logits, log_z = logits[:4].requires_grad_(), concrete.log_simplex(z, temperature).requires_grad_()
    cross = concrete.cross_log_density(log_z, logits, temperature)
    pairs = concrete.log_density(log_z[:, None], logits[None], temperature)
    torch.testing.assert_close(cross, pairs, rtol=1e-5, atol=1e-4)
    gradients = [torch.autograd.grad(value.square().sum(), (log_z, logits)) for value in (cross, pairs)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-3)


def test_gradients_are_those_of_finite_differences() -> None:
    logits, z = example(0.66)
    log_z, logits = concrete.log_simplex(z, 0.66).requires_grad_(), logits.requires_grad_()
    for density in (concrete.log_density, concrete.cross_log_density):
        assert torch.autograd.gradcheck(lambda a, b, f=density: f(a, b, 0.66), (log_z, logits))
    times = torch.empty(6, 5, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(4))
    assert torch.autograd.gradcheck(lambda b: concrete.draw(b, 0.66, times), (logits,))


@pytest.mark.parametrize("temperature", [0.05, 0.66, 5.0])
def test_certain_classes_stay_finite_in_single_precision(temperature: float) -> None:
    logits = torch.tensor([[200.0, 0.0, -200.0], [0.0, 300.0, 0.0]]).log_softmax(1).requires_grad_()
    times = torch.empty(2, 3).exponential_(generator=torch.Generator().manual_seed(0))
    z = concrete.draw(logits, temperature, times)
    assert (z > 0).all()
    torch.testing.assert_close(z.sum(1), torch.ones(2))
    cross = concrete.cross_log_density(concrete.log_simplex(z, temperature), logits, temperature)
    assert cross.isfinite().all()
    (gradient,) = torch.autograd.grad(cross.sum(), logits)
    assert gradient.isfinite().all()
    # The own class is likelier, by as much as the floor under log z can tell: K lambda DEPTH nats.
    most = min(3 * concrete.DEPTH * temperature, 150)
    assert (cross.diagonal() > cross.flip(1).diagonal() + 0.99 * most).all()


def test_densities_integrate_to_one() -> None:
    """Over the simplex of two classes, z = (u, 1 - u)."""
    u = torch.linspace(1e-6, 1 - 1e-6, 200_001, dtype=torch.float64)
    z = torch.stack([u, 1 - u], 1)
    logits = torch.tensor([0.3, -0.5], dtype=torch.float64).log_softmax(0)
    density = concrete.log_density(concrete.log_simplex(z, 0.66), logits, 0.66).exp()
    assert float(torch.trapezoid(density, u)) == pytest.approx(1, abs=1e-3)


def test_temperature() -> None:
    assert from_dict(Temperature, 0.4) == Temperature(0.4)
    assert Temperature(0.4).at(0) == Temperature(0.4).at(None) == pytest.approx(0.4)
    falling = Temperature(1.0, 0.01, 200)
    assert falling.at(100) == pytest.approx(0.1)
    assert falling.at(None) == falling.at(10_000) == pytest.approx(0.01)
    assert from_dict(Temperature, to_dict(falling)) == falling
    with pytest.raises(HatchelError, match="start: input should be greater than 0"):
        Temperature(0)
    assert math.isclose(Temperature().at(3), 0.66)
