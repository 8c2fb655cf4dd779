"""One pass for a classifier's reading and its lesson: the values and gradients of the two passes it stands for."""

from __future__ import annotations

import pytest
import torch

from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import CriticModule


def critic(by: DensityRatio | None = None) -> CriticModule:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return (by or DensityRatio(hidden=16, layers=4)).build(5).double()


@pytest.mark.parametrize("shift", [0.0, 30.0, -30.0, 300.0], ids=["near", "sure", "wrong", "certain"])
def test_it_equals_two_passes(shift: float) -> None:
    """Also where the classifier is so sure that its loss has no slope left: what it reads has one."""
    module, g = critic(), torch.Generator().manual_seed(0)
    *_, last = module.parameters()
    with torch.no_grad():
        last[0] += shift
    joint, product = torch.randn(2, 12, 5, generator=g, dtype=torch.float64).unbind()
    joint.requires_grad_()
    both = module.both(joint, product)
    assert both is not None
    expected, lesson = module(joint, product), module.loss(joint.detach(), product).mean()
    torch.testing.assert_close(both, (expected, lesson), rtol=1e-12, atol=1e-12)

    weights, upstream = list(module.parameters()), torch.randn(12, generator=g, dtype=torch.float64)

    def of_joint(ratio: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((upstream * ratio).sum(), joint, retain_graph=True)[0]

    torch.testing.assert_close(of_joint(both[0]), of_joint(expected), rtol=1e-9, atol=1e-12)
    found = torch.autograd.grad(3 * both[1], weights, retain_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad(3 * lesson, weights), rtol=1e-9, atol=1e-12)
    crossing = torch.autograd.grad(both[1], joint, retain_graph=True, allow_unused=True)
    crossing += torch.autograd.grad(both[0].sum(), weights, allow_unused=True)
    assert all(c is None or not c.any() for c in crossing)


def test_it_is_left_out_where_it_would_be_wrong() -> None:
    rows = torch.randn(12, 5, dtype=torch.float64, requires_grad=True)
    assert critic(DensityRatio(hidden=8, layers=3, product="half")).both(rows, rows) is None
    assert critic().both(rows.detach(), rows) is None
