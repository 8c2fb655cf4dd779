"""Ladder: the merge by hand, the chain of densities, and what the decoder reads."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Normal

from hatchel.core.errors import HatchelError
from hatchel.latents import top_down
from hatchel.latents.ladder import Ladder, precision_weighted


def test_the_merge_weighs_by_precision() -> None:
    g = torch.Generator().manual_seed(0)
    mean_a, log_a, mean_b, log_b = torch.randn(4, 5, 3, generator=g, dtype=torch.float64).unbind(0)
    found = precision_weighted(top_down.Normal(mean_a, log_a), top_down.Normal(mean_b, log_b))
    a, b = (-log_a).exp(), (-log_b).exp()
    torch.testing.assert_close(found.log_variance.exp(), 1 / (a + b))
    torch.testing.assert_close(found.mean, (mean_a * a + mean_b * b) / (a + b))


def test_densities_chain_from_the_top() -> None:
    latent = Ladder((2, 3), hidden=4)
    module = latent.build().double()
    g = torch.Generator().manual_seed(0)
    numbers = torch.randn(6, 10, generator=g, dtype=torch.float64)
    q = module.posterior(numbers)
    z = torch.randn(6, 5, generator=g, dtype=torch.float64)
    pairs = numbers.unflatten(1, (5, 2))
    top = Normal(pairs[:, :3, 0], (0.5 * pairs[:, :3, 1]).exp())
    below = module.rungs[0](z[:, :3])
    prior = Normal(below[:, :2], (0.5 * below[:, 2:]).exp())
    precision = (-pairs[:, 3:, 1]).exp() + prior.variance.reciprocal()
    mean = (pairs[:, 3:, 0] * (-pairs[:, 3:, 1]).exp() + prior.mean / prior.variance) / precision
    bottom = Normal(mean, precision.rsqrt())
    expected = top.log_prob(z[:, :3]).sum(1) + bottom.log_prob(z[:, 3:]).sum(1)
    torch.testing.assert_close(q.log_prob(z, q.layout.whole), expected)
    expected = Normal(0.0, 1.0).log_prob(z[:, :3]).sum(1) + prior.log_prob(z[:, 3:]).sum(1)
    torch.testing.assert_close(module.prior_at().log_prob(z, q.layout.whole), expected)
    kl = torch.distributions.kl_divergence(bottom, prior)
    torch.testing.assert_close(module.prior_at().kl(q, z)[:, 3:], kl)
    assert q.layout.names == ("z2", "z1")


def test_the_decoder_reads_the_lowest_layer_or_all() -> None:
    z = torch.arange(10.0).view(2, 5)
    assert Ladder((2, 3)).decoder_width == 2
    assert torch.equal(Ladder((2, 3)).build().decoder_input(z, 0), z[:, 3:])
    assert torch.equal(Ladder((2, 3), reads="all").build().decoder_input(z, 0), z)
    with pytest.raises(HatchelError, match="layers: a ladder has at least two"):
        Ladder((4,))
