"""GeneratedInformation: a lower bound that a generator which copies its code makes tight."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.latents.code_noise import CodeNoise
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.objective.estimators.discriminator import Discriminator
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.objective import Objective
from hatchel.objective.terms.generated import Adversarial, GeneratedInformation
from hatchel.objective.trace import Generated, Trace
from tests.conftest import gaussian_trace


def bound(made: Generated) -> float:
    t = dataclasses.replace(gaussian_trace(), generate=lambda: made)
    return float(GeneratedInformation().value(t, None).mean())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 3.0, 12.0])
def test_of_a_class_it_is_at_most_the_entropy_and_near_it_for_a_copy(sharpness: float) -> None:
    """Q's logits are `sharpness` times the one-hot that G copied: E log Q = s - log(e^s + K - 1)."""
    module = CodeNoise(code=1, classes=(4,), noise=1, prior="normal").build()
    p = module.prior_at()
    code = p.sample(4000, torch.Generator().manual_seed(0))
    numbers = torch.cat([sharpness * code[:, :4], torch.zeros(4000, 2)], 1)
    found = bound(Generated(code, module.posterior(numbers), code, p.entropy))
    information = sharpness - math.log(math.exp(sharpness) + 3) + math.log(4)
    assert information <= math.log(4)
    assert found == pytest.approx(information, abs=0.05)  # the coordinate, of which Q says N(0, 1), adds 0
    if sharpness == 12:
        assert found == pytest.approx(math.log(4), abs=0.05)


def test_of_coordinates_it_is_the_information_of_a_gaussian_channel() -> None:
    """G(c) = c + s n: I = 1/2 log(1 + 1/s^2), reached by Q = N(c|x) exactly, and missed by any other Q."""
    s = 0.5
    c, n = torch.randn(2, 40_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64).unbind(0)
    shrink = 1 / (1 + s**2)
    mean, log_variance = shrink * (c + s * n), torch.full_like(c, math.log(s**2 * shrink))
    entropy = 0.5 * math.log(2 * math.pi * math.e)
    best = bound(Generated(c, DiagonalGaussian(mean, log_variance), c, entropy))
    assert best == pytest.approx(0.5 * math.log(1 + 1 / s**2), abs=0.02)
    for other in (DiagonalGaussian(mean, log_variance + 1), DiagonalGaussian(c + s * n, log_variance)):
        assert bound(Generated(c, other, c, entropy)) < best - 0.05


def test_without_generated_items_it_says_so() -> None:
    t = dataclasses.replace(gaussian_trace(), generate=None)
    with pytest.raises(HatchelError, match="set latent=code_noise"):
        GeneratedInformation().value(t, None)  # pyright: ignore[reportArgumentType]


def game() -> tuple[Trace, torch.Tensor]:
    t = gaussian_trace(dtype=torch.float32)
    made = torch.randn(24, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    data = torch.randn(24, 3, generator=torch.Generator().manual_seed(2))
    generated = dataclasses.replace(t.generated, x=made)
    return dataclasses.replace(t, batch=dataclasses.replace(t.batch, x=data), generate=lambda: generated), made


@pytest.mark.parametrize("form", ["non_saturating", "minimax"])
def test_values_in_terms_of_d(form: str) -> None:
    t, made = game()
    objective = Objective({"it": 1.0 * Adversarial(Discriminator(hidden=(8,)), form)}, t.q.layout, shape=(3,))
    (critic,) = objective.critics.values()
    d = 1 - critic.net(made)[:, 0].sigmoid()  # the chance that it is the data's
    expected = -d.log() if form == "non_saturating" else (1 - d).log()
    torch.testing.assert_close(objective(t).objective, expected.mean().detach())


def test_no_gradient_crosses_between_generator_and_discriminator() -> None:
    t, made = game()
    objective = Objective({"it": 3.0 * Adversarial(Discriminator(hidden=(8,)))}, t.q.layout, shape=(3,))
    (critic,) = objective.critics.values()
    weights = list(critic.parameters())
    found = torch.autograd.grad(objective(t).total, [made, *weights])
    generator = torch.autograd.grad(3 * torch.nn.functional.softplus(critic.net(made)[:, 0]).mean(), made)
    torch.testing.assert_close(found[0], generator[0])
    own = torch.autograd.grad(critic.loss(made.detach(), t.batch.x).mean(), weights)
    torch.testing.assert_close(found[1:], own)


def test_a_critic_of_pairs_is_refused() -> None:
    with pytest.raises(HatchelError, match=r"objective\.it: mine cannot compare items; use critic=discriminator"):
        Objective({"it": 1.0 * Adversarial(MINE())}, game()[0].q.layout, shape=(3,))
