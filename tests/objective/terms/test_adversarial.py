"""Adversarial: its value, and a game in which no gradient crosses."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.objective.estimators.discriminator import Discriminator
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.objective import Objective
from hatchel.objective.terms.generated import Adversarial
from hatchel.objective.trace import Trace
from tests.conftest import gaussian_trace


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
