"""The written-out gradient of the conditional densities against torch's own, and the density against its definition."""

import math

import pytest
import torch

from hatchel.metrics.solvers.conditionals import COMPONENTS, HIDDEN, Conditionals

DIMS, ROWS = 4, 50
random = torch.Generator().manual_seed(0)
u, w = (torch.randn(DIMS - 1, ROWS, generator=random) for _ in range(2))


def plain(weights, u, w):
    """log p(w_d | u_1 .. u_d-1) - log N(w_d; 0, 1), network by network, by torch.distributions."""
    first, first_bias, second, second_bias, last, last_bias = weights
    total = torch.zeros(ROWS)
    for d in range(DIMS - 1):
        hidden = torch.relu(first[d, :, : d + 1] @ u[: d + 1] + first_bias[d])
        hidden = torch.relu(second[d] @ hidden + second_bias[d])
        share, mean, scale = (last[d] @ hidden + last_bias[d]).T.split(COMPONENTS, 1)
        mixture = torch.distributions.MixtureSameFamily(
            torch.distributions.Categorical(logits=share),
            torch.distributions.Normal(mean, scale.clamp(-7, 3).exp()),
        )
        total = total + mixture.log_prob(w[d]) + 0.5 * w[d] ** 2 + 0.5 * math.log(2 * math.pi)
    return total


def shaken(size):
    """A model whose weights are no longer those that training starts from, some of its deviations at their limits."""
    model = Conditionals(DIMS, seed=1)
    model.flat += size * torch.randn(model.flat.shape, generator=random)
    model.weights[0].mul_(model.past)
    return model


@pytest.mark.parametrize("size", [0.0, 0.3, 1.5])
def test_density_and_gradient_are_torchs_own(size):
    model = shaken(size)
    weights = [p.clone().requires_grad_() for p in model.weights]
    expected = plain(weights, u, w)
    torch.testing.assert_close(model.forward(u, w), expected.detach(), rtol=1e-4, atol=1e-4)
    spread = (weights[0].square().sum(1) + 1e-8).sqrt()
    (0.1 * spread.sum() - expected.mean()).backward()
    total = model.step(u, w, penalty=0.1, rate=0.0)
    assert float(total) == pytest.approx(float(expected.detach().sum()), rel=1e-4, abs=1e-3)
    for slope, p in zip(model.slopes, weights, strict=True):
        assert p.grad is not None
        torch.testing.assert_close(slope, p.grad, rtol=1e-3, atol=1e-5)


def test_a_step_is_adams():
    model = shaken(0.1)
    before = model.flat.clone().requires_grad_()
    optimiser = torch.optim.Adam([before], lr=0.01)
    for _ in range(3):
        model.step(u, w, penalty=0.1, rate=0.01)
        before.grad = model.slope.clone()
        optimiser.step()
    torch.testing.assert_close(model.flat, before.detach())


def test_no_network_reads_its_own_dimension_or_a_later_one():
    model = Conditionals(DIMS, seed=0)
    for _ in range(5):
        model.step(u, w, penalty=0.01, rate=0.01)
    assert model.weights[0].shape == (DIMS - 1, HIDDEN, DIMS - 1)
    assert all(float(model.weights[0][d, :, d + 1 :].abs().sum()) == 0 for d in range(DIMS - 1))
