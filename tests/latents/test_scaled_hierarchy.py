"""DeVAE's hierarchy: Eqs. 4 to 8 by hand, what scaling keeps, how often a level is drawn."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.metrics import mig
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Critic
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.objective import Objective
from hatchel.objective.terms.decomposition import TotalCorrelation
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Constant, PerLevel, Weight
from tests.conftest import gaussian_trace, trace_of


def made(spaces="scaled", levels: int = 3, dim: int = 4, **fields: object):
    module = ScaledHierarchy(Diagonal(dim), levels, spaces=spaces, **fields).build().double()
    g = torch.Generator().manual_seed(0)
    for parameter in module.parameters():
        parameter.data += torch.randn(parameter.shape, generator=g, dtype=torch.float64) / 2
    return module


NUMBERS = torch.randn(200, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_equations_4_to_6() -> None:
    module = made()
    mean, log_variance = NUMBERS.unflatten(1, (-1, 2)).unbind(2)
    for level in range(3):
        q = module.posterior(NUMBERS, level=level)
        w1, w2 = module.log_scales[:level].sum(0), module.log_spreads[:level].sum(0)
        torch.testing.assert_close(q.mean, w1.exp() * mean)
        sigma = (0.5 * log_variance).exp()
        torch.testing.assert_close(q.variance.sqrt(), w2.exp() * sigma)
        # Eq. 6, whose sign the paper has the other way round: it prints minus the KL.
        kl = -0.5 * (1 + 2 * w2 + 2 * sigma.log() - (2 * w2).exp() * sigma**2 - (2 * w1).exp() * mean**2)
        torch.testing.assert_close(module.prior_at().kl(q, q.mean), kl)


def test_all_levels_start_equal() -> None:
    for spaces in ("scaled", "linear"):
        module = ScaledHierarchy(Diagonal(4), 3, spaces=spaces).build()
        first, *others = [module.posterior(NUMBERS.float(), level=level) for level in range(3)]
        assert all(torch.equal(first.mean, q.mean) and torch.equal(first.variance, q.variance) for q in others)


def test_scaling_keeps_correlations_and_mig_and_mixing_does_not() -> None:
    """Theorem 1 of the paper; MIG on equal-width bins does not see a scale."""
    factors = np.random.default_rng(0).integers(5, size=(200, 2))
    numbers = NUMBERS.clone()
    numbers[:, 0] += torch.from_numpy(factors[:, 0])
    numbers[:, 2] += torch.from_numpy(factors[:, 1]) + 0.5 * numbers[:, 0]

    def look(spaces: str):
        means = [made(spaces).posterior(numbers, level=level).mean.detach().numpy() for level in range(3)]
        return [np.corrcoef(m.T) for m in means], [float(mig(m, factors)) for m in means]

    correlations, scores = look("scaled")
    for c, score in zip(correlations, scores, strict=True):
        np.testing.assert_allclose(c, correlations[0], atol=1e-12)
        assert score == pytest.approx(scores[0], abs=1e-12)
    correlations, _ = look("linear")
    assert np.abs(correlations[2] - correlations[0]).max() > 0.1


def test_linear_spaces_multiply_the_means() -> None:
    module = made("linear")
    means = [module.posterior(NUMBERS, level=level).mean for level in range(3)]
    for level in (1, 2):
        torch.testing.assert_close(means[level], means[level - 1] @ module.matrices[level - 1].T)


def test_parallel_spaces_have_numbers_of_their_own() -> None:
    latent = ScaledHierarchy(Diagonal(2), 2, spaces="parallel")
    assert latent.widths == (4, 4)
    numbers = torch.arange(8.0)[None]
    q = [latent.build().posterior(numbers, level=level) for level in range(2)]
    assert [x.mean.tolist() for x in q] == [[[0, 4]], [[2, 6]]]
    assert [x.log_variance.tolist() for x in q] == [[[1, 5]], [[3, 7]]]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [(1.0, [1 / 3] * 3), (2.0, [1 / 7, 2 / 7, 4 / 7]), (0.5, [4 / 7, 2 / 7, 1 / 7]), (0.0, [1, 0, 0])],
)
def test_frequencies_of_the_draws(scale: float, expected: list[float]) -> None:
    """p(i) in proportion to s^i, a function of seed and step alone."""
    module = ScaledHierarchy(Diagonal(2), 3, scale).build()
    draws = [module.draw_level(7, step) for step in range(4000)]
    found = np.bincount(draws, minlength=3) / 4000
    np.testing.assert_allclose(found, expected, atol=5 * (0.25 / 4000) ** 0.5)
    assert draws[:50] == [module.draw_level(7, step) for step in range(50)]
    if scale:
        assert draws[:50] != [module.draw_level(8, step) for step in range(50)]


@pytest.mark.parametrize("spaces", ["scaled", "linear", "parallel"])
def test_every_parameter_has_a_gradient_at_every_level(spaces: str) -> None:
    """Zero where the level does not use it, never missing: processes that train together wait for all of them."""
    module = made(spaces)
    numbers = torch.randn(5, sum(module.spec.widths), dtype=torch.float64)
    for level in range(3):
        module.zero_grad(set_to_none=True)
        q = module.posterior(numbers, level=level)
        (module.prior_at().kl(q, q.mean).sum() + module.decoder_input(q.mean, level).square().sum()).backward()
        assert all(p.grad is not None for p in module.parameters())
        for name in ("log_scales", "matrices", "log_spreads"):
            parameter = getattr(module, name)
            if parameter is not None:
                used = parameter.grad.flatten(1).abs().sum(1) > 0
                assert used.tolist() == [j < level for j in range(2)]


def test_gradients_are_those_of_finite_differences() -> None:
    module = made(dim=2)
    numbers = NUMBERS[:3, :4].clone().requires_grad_()
    parameters = (module.log_scales, module.log_spreads)

    def value(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        q = module.posterior(x, level=2)
        return module.prior_at().kl(q, q.mean).sum()

    assert torch.autograd.gradcheck(value, (numbers, *parameters))


def test_weights_by_level() -> None:
    weight = PerLevel((1, 10, 40))
    assert [weight.at_level(i) for i in range(3)] == [Constant(1), Constant(10), Constant(40)]
    assert from_dict(Weight, [1, 10, 40]) == weight
    assert Constant(3).at_level(2) == Constant(3)
    terms = {"rec": 1.0 * Reconstruction(), "kl": weight * KL()}
    module = made()
    objective = Objective(terms, module.layout)
    for level, beta in enumerate((1, 10, 40)):
        t = gaussian_trace(200)
        t = dataclasses.replace(t, q=module.posterior(NUMBERS, level=level), level=level)
        loss = objective(t)
        expected = loss.terms["rec"] + beta * loss.terms["kl"]
        torch.testing.assert_close(loss.objective, expected)
    with pytest.raises(
        HatchelError, match=r"objective\.kl: per_level does not fit this latent: there are 3 weights for 1"
    ):
        Objective(terms, gaussian_trace().q.layout)


@pytest.mark.parametrize("by", [DensityRatio(hidden=8), MINE(hidden=8)], ids=lambda by: by.kind)
def test_a_critic_learns_only_at_the_levels_that_read_it(by: Critic) -> None:
    """RTC on the first level: codes of the others are scaled otherwise, and are no example of its density."""
    module = made()
    terms = {"tc": PerLevel((10, 0, 0)) * TotalCorrelation(by)}
    objective = Objective(terms, module.layout)
    for level in range(3):
        objective.zero_grad()
        before = {name: buffer.clone() for name, buffer in objective.critics.named_buffers()}
        q = module.posterior(NUMBERS, level=level)
        z = q.rsample(torch.Generator().manual_seed(0)).float()
        loss = objective(trace_of(q, z, log_px=z[:, 0], level=level))
        loss.total.backward()
        gradients = torch.cat([p.grad.flatten() for p in objective.critics.parameters()])
        assert bool((gradients != 0).any()) == (level == 0)
        assert bool(loss.critics["tc"] != 0) == (level == 0)
        assert bool(loss.objective != 0) == (level == 0)
        if level:
            now = dict(objective.critics.named_buffers())
            assert all(torch.equal(now[name], buffer) for name, buffer in before.items())
