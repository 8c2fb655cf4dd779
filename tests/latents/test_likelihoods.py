import math

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import distributions as D

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.data.table import TableColumn
from hatchel.latents.likelihoods import (
    Bernoulli,
    Columns,
    ContinuousBernoulli,
    Gaussian,
    Laplace,
    Likelihood,
    LikelihoodModule,
    SquaredError,
)


def outputs(*shape: int, seed: int = 0) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def grey(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.double)


def summed(values: torch.Tensor) -> torch.Tensor:
    return values.flatten(1).sum(1)


def test_bernoulli_is_torchs() -> None:
    output, x = outputs(3, 2, 4, 4), grey(3, 2, 4, 4).round()
    module = Bernoulli().build()
    torch.testing.assert_close(module.log_prob(output, x), summed(D.Bernoulli(logits=output).log_prob(x)))
    torch.testing.assert_close(module.mean(output), D.Bernoulli(logits=output).mean)


@pytest.mark.parametrize("spec", [Gaussian(0.3), Gaussian(2.0, learned=True), Laplace(0.4), Laplace(3.0)])
def test_densities_over_the_line_integrate_to_one_and_have_their_mean(spec: Likelihood) -> None:
    module = spec.build().to(dtype=torch.double)
    output = torch.tensor([[0.7]], dtype=torch.double)

    def density(x: float) -> float:
        return module.log_prob(output, torch.tensor([[x]], dtype=torch.double)).exp().item()

    assert integrate.quad(density, -80, 80, points=(0.7,), limit=200)[0] == pytest.approx(1, abs=1e-7)
    mean = integrate.quad(lambda x: x * density(x), -80, 80, points=(0.7,), limit=200)[0]
    assert mean == pytest.approx(module.mean(output).item(), abs=1e-6)


def test_squared_error_on_a_sigmoid_is_a_normal_density_without_its_constant() -> None:
    output, x = outputs(3, 2, 4, 4), grey(3, 2, 4, 4)
    module = SquaredError().build()
    normal = D.Normal(output.sigmoid(), 1 / math.sqrt(2)).log_prob(x)
    torch.testing.assert_close(module.log_prob(output, x), summed(normal + 0.5 * math.log(math.pi)))
    torch.testing.assert_close(module.mean(output), output.sigmoid())
    assert from_dict(Likelihood, "squared_error") == SquaredError()


def test_bernoulli_sums_to_one_over_all_binary_images() -> None:
    images = torch.tensor(list(np.ndindex(2, 2, 2, 2)), dtype=torch.double).view(16, 1, 2, 2)
    chances = Bernoulli().build().log_prob(outputs(1, 1, 2, 2).expand(16, -1, -1, -1), images).exp()
    assert chances.sum().item() == pytest.approx(1)


def test_bernoulli_of_grey_values_is_the_expectation_over_images_drawn_from_them() -> None:
    output, x = outputs(2, 1, 1, 3), grey(2, 1, 1, 3)
    module, expected = Bernoulli().build(), torch.zeros(2, dtype=torch.double)
    for bits in np.ndindex(2, 2, 2):
        image = torch.tensor(bits, dtype=torch.double).view(1, 1, 1, 3).expand(2, -1, -1, -1)
        chance = D.Bernoulli(x).log_prob(image).flatten(1).sum(1).exp()
        expected += chance * module.log_prob(output, image)
    torch.testing.assert_close(module.log_prob(output, x), expected)


def test_bernoulli_is_finite_at_any_logit_and_its_gradient_is_x_minus_the_mean() -> None:
    module = Bernoulli().build()
    extreme = torch.tensor([[-1e4, 1e4, 1e4]])
    assert module.log_prob(extreme, torch.tensor([[0.0, 1.0, 0.0]])).tolist() == [-1e4]
    output, x = outputs(4, 1, 8, 8).requires_grad_(), grey(4, 1, 8, 8)
    module.log_prob(output, x).sum().backward()
    torch.testing.assert_close(output.grad, x - output.sigmoid())


@pytest.mark.parametrize("sigma", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("learned", [False, True])
def test_gaussian_is_torchs(sigma: float, learned: bool) -> None:
    output, x = outputs(3, 2, 4, 4), grey(3, 2, 4, 4)
    module = Gaussian(sigma, learned).build().to(dtype=torch.double)
    torch.testing.assert_close(
        module.log_prob(output, x), summed(D.Normal(output, sigma).log_prob(x)), rtol=1e-6, atol=0
    )
    assert torch.equal(module.mean(output), output)
    assert len(list(module.parameters())) == learned


def test_the_learned_sigma_finds_the_residuals_deviation() -> None:
    module = Gaussian(learned=True).build().to(dtype=torch.double)
    output, x = torch.zeros(50, 40, dtype=torch.double), 0.3 * outputs(50, 40)
    optimiser = torch.optim.LBFGS(module.parameters(), line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = -module.log_prob(output, x).mean()
        value.backward()
        return value

    optimiser.step(loss)
    (log_sigma,) = module.parameters()
    assert log_sigma.exp().item() == pytest.approx(x.square().mean().sqrt().item(), rel=1e-5)


def test_laplace_is_torchs() -> None:
    output, x = outputs(3, 2, 4, 4), grey(3, 2, 4, 4)
    module = Laplace(0.4).build()
    torch.testing.assert_close(module.log_prob(output, x), summed(D.Laplace(output, 0.4).log_prob(x)))
    assert torch.equal(module.mean(output), output)


# From far out through the Taylor region and its border (logit 1) to exactly one half.
LOGITS = [-40.0, -12.0, -1.0001, -0.9999, -1e-3, 0.0, 1e-9, 1e-4, 0.3, 0.9999, 1.0001, 5.0, 30.0]


def test_continuous_bernoulli_is_torchs() -> None:
    output = torch.tensor(LOGITS, dtype=torch.double)[:, None]
    x = grey(len(LOGITS), 1)
    module = ContinuousBernoulli().build()
    inner = output[:, 0].abs() < 30  # torch clamps lambda to its precision; the integral below judges the rest
    output, x = output[inner], x[inner]
    theirs = D.ContinuousBernoulli(logits=output)
    torch.testing.assert_close(module.log_prob(output, x), summed(theirs.log_prob(x)), rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(module.mean(output), theirs.mean, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("logit", LOGITS)
def test_continuous_bernoulli_normalises_and_its_mean_is_its_mean(logit: float) -> None:
    module = ContinuousBernoulli().build()
    output = torch.tensor([[logit]], dtype=torch.double)

    def density(x: float) -> float:
        return module.log_prob(output, torch.tensor([[x]], dtype=torch.double)).exp().item()

    area, _ = integrate.quad(density, 0, 1, points=(0.05, 0.95))
    mean, _ = integrate.quad(lambda x: x * density(x), 0, 1, points=(0.05, 0.95))
    assert area == pytest.approx(1, abs=1e-9)
    assert module.mean(output).item() == pytest.approx(mean, abs=1e-9)
    if abs(logit) > 1e-3:
        assert abs(mean - output.sigmoid().item()) > 1e-5, "the mean is not lambda"


def test_continuous_bernoullis_gradient_is_x_minus_the_mean_everywhere() -> None:
    module = ContinuousBernoulli().build()
    for dtype, tolerance in ((torch.double, 1e-9), (torch.float, 2e-6)):
        output = torch.tensor(LOGITS, dtype=dtype)[:, None].requires_grad_()
        x = grey(len(LOGITS), 1).to(dtype)
        module.log_prob(output, x).sum().backward()
        torch.testing.assert_close(output.grad, x - module.mean(output.detach()), atol=tolerance, rtol=0)


COLUMNS = (
    TableColumn("age", "gaussian", mean=40.0, scale=12.0),
    TableColumn("colour", "categorical", 3, values=("red", "green", "blue")),
    TableColumn("smokes", "bernoulli", values=("no", "yes")),
    TableColumn("height", "gaussian"),
)


@pytest.mark.parametrize("learned", [False, True])
def test_columns_add_up(learned: bool) -> None:
    output = outputs(4, 6)
    x = torch.tensor([[0.3, 0, 1, 0, 1, -2.0], [1.0, 1, 0, 0, 0, 0.1], [0.0, 0, 0, 1, 1, 0.4], [2.0, 0, 1, 0, 0, 1.0]])
    x = x.double()
    module = Columns(COLUMNS, learned).build().to(dtype=torch.double)
    sigmas = torch.ones(2, dtype=torch.double)
    if learned:
        sigmas = torch.tensor([0.5, 3.0], dtype=torch.double)
        (log_sigma,) = module.parameters()
        log_sigma.data.copy_(sigmas.log())
    expected = (
        D.Normal(output[:, 0], sigmas[0]).log_prob(x[:, 0])
        + D.OneHotCategorical(logits=output[:, 1:4]).log_prob(x[:, 1:4])
        + D.Bernoulli(logits=output[:, 4]).log_prob(x[:, 4])
        + D.Normal(output[:, 5], sigmas[1]).log_prob(x[:, 5])
    )
    torch.testing.assert_close(module.log_prob(output, x), expected)
    mean = module.mean(output)
    assert torch.equal(mean[:, [0, 5]], output[:, [0, 5]])
    torch.testing.assert_close(mean[:, 1:4], D.Categorical(logits=output[:, 1:4]).probs)
    torch.testing.assert_close(mean[:, 4], output[:, 4].sigmoid())


def test_columns_of_one_kind_only() -> None:
    output = outputs(3, 2)
    for kind, x in (("gaussian", grey(3, 2)), ("bernoulli", grey(3, 2).round())):
        module = Columns(tuple(TableColumn(n, kind) for n in "ab")).build().to(dtype=torch.double)
        single: Likelihood = Gaussian() if kind == "gaussian" else Bernoulli()
        alone: LikelihoodModule = single.build().to(dtype=torch.double)
        torch.testing.assert_close(module.log_prob(output, x), alone.log_prob(output, x))


def test_columns_that_cannot_be() -> None:
    with pytest.raises(HatchelError, match="columns: 'a' is categorical and has width 1; set more than 1"):
        Columns((TableColumn("a", "categorical", 1),))
    with pytest.raises(HatchelError, match="columns: 'a' is gaussian and has width 2; set 1"):
        Columns((TableColumn("a", "gaussian", 2),))
    with pytest.raises(HatchelError, match="Train on a table"):
        Columns().build()
    with pytest.raises(HatchelError, match="the columns take 6 values, the data have 5"):
        Columns(COLUMNS).build().log_prob(torch.zeros(2, 6), torch.zeros(2, 5))


def test_columns_survive_json() -> None:
    spec = Columns(COLUMNS, learned=True)
    assert from_dict(Likelihood, to_dict(spec)) == spec


def test_a_fixed_scale_is_no_state_and_a_learned_one_is() -> None:
    assert not Gaussian(0.3).build().state_dict()
    assert Gaussian(0.3, learned=True).build().state_dict()["log_sigma"].item() == pytest.approx(math.log(0.3))
