"""Every code under every posterior, against torch's own densities."""

from __future__ import annotations

import torch
from torch.distributions import Normal

from hatchel.latents.diagonal import cross_normal, within


def drawn() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    z, mean, log_variance = (torch.randn(n, 3, generator=g, dtype=torch.float64) for n in (5, 4, 4))
    return z.requires_grad_(), mean.requires_grad_(), log_variance.requires_grad_()


def test_densities_are_those_of_torch() -> None:
    z, mean, log_variance = drawn()
    known = Normal(mean.T[:, None, :], (0.5 * log_variance).exp().T[:, None, :]).log_prob(z.T[:, :, None])
    assert torch.allclose(cross_normal(z, mean, log_variance), known)


def test_gradients_are_those_of_differences() -> None:
    assert torch.autograd.gradcheck(cross_normal, drawn())


def test_sums_within_blocks_name_each_site_by_its_place() -> None:
    first, second = torch.randn(2, 5, 4, dtype=torch.float64), torch.randn(1, 5, 4, dtype=torch.float64)
    places = {7: 0, 3: 1, 4: 2}
    found = within(((4, 3, 7), (3,), (4,), (7, 4)), places, (first, second))
    assert torch.allclose(found[0], first.sum(0) + second[0])
    assert torch.equal(found[1], first[1])
    assert torch.equal(found[2], second[0])
    assert torch.allclose(found[3], first[0] + second[0])
