"""Assigned: the flow against brute force, the decoder's say in training and after, and what a class costs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from hatchel.latents.assigned import Assigned, AssignedPosterior, assignment
from hatchel.latents.diagonal import Diagonal, StandardNormal


def price(costs: np.ndarray, chosen: tuple[int, ...], balance: float) -> float:
    together = sum(a == b for i, a in enumerate(chosen) for j, b in enumerate(chosen) if i != j)
    return float(sum(costs[i, d] for i, d in enumerate(chosen)) + balance * together)


@pytest.mark.parametrize("balance", [0.0, 0.05, 0.4, 10.0])
def test_the_flow_finds_the_best_of_all_assignments(balance: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        costs = rng.normal(size=(6, 3))
        best = min(price(costs, d, balance) for d in itertools.product(range(3), repeat=6))
        assert price(costs, tuple(assignment(costs, balance)), balance) == pytest.approx(best, abs=1e-12)


def refined(latent: Assigned, costs: torch.Tensor, step: int | None, training: bool) -> AssignedPosterior:
    """Where class k of item i costs costs[i, k], whatever z is."""
    module = latent.build().train(training)
    q = module.posterior(torch.randn(len(costs), 2 * latent.over.dim, generator=torch.Generator().manual_seed(0)))

    def log_px(code: torch.Tensor) -> torch.Tensor:
        torch.testing.assert_close(code[:, : latent.over.dim], q.mean[:, : latent.over.dim])
        return -(costs * code[:, latent.over.dim :]).sum(1)

    found = module.refine(q, log_px, step)
    assert isinstance(found, AssignedPosterior)
    return found


def test_batches_are_balanced_in_training_and_items_judged_alone_after() -> None:
    costs = torch.tensor([[0.0, 1.0], [0.0, 5.0], [0.0, 3.0]])
    latent = Assigned(Diagonal(2), classes=2, balance=0.3)
    assert refined(latent, costs, 0, True).clusters()[:, 0].tolist() == [1, 0, 0]
    assert refined(latent, costs, 0, False).clusters()[:, 0].tolist() == [0, 0, 0]
    assert refined(latent, costs, None, False).classes.tolist() == [[1.0, 0.0]] * 3


def test_undecided_in_the_warmup() -> None:
    costs = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    latent = Assigned(Diagonal(2), classes=2, warmup=10)
    assert refined(latent, costs, 9, True).classes.tolist() == [[0.5, 0.5]] * 2
    assert refined(latent, costs, 10, True).classes.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_class_costs_log_k_once_it_is_assigned() -> None:
    costs = torch.tensor([[0.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
    latent = Assigned(Diagonal(2), classes=3, balance=0, warmup=1)
    before, after = (refined(latent, costs, step, True) for step in (0, 1))
    for q, own in ((before, 0.0), (after, math.log(3))):
        p, z = latent.build().prior_at(), q.rsample(torch.Generator().manual_seed(1))
        normal = StandardNormal(q.normal.layout).kl(q.normal, z)
        torch.testing.assert_close(p.kl(q, z), torch.cat([normal, torch.full((2, 1), own)], 1))
        ratio = q.log_prob(z, (2,)) - p.log_prob(z, (2,))
        torch.testing.assert_close(ratio, torch.full((2,), own))
