"""Nvae: posteriors relative to priors, grids that grow, and the state that the decoder reads."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.latents.nvae import Nvae


def test_layout() -> None:
    latent = Nvae((1, 4, 8), (8, 2, 1), channels=5)
    assert latent.maps == ((8, 1), (2, 4), (1, 8))
    assert latent.sizes == (8, 32, 64)
    assert latent.state == (5, 8)
    assert latent.decoder_width == 320
    q = latent.build().posterior(torch.zeros(2, 2 * latent.width))
    assert [len(group) for group in q.layout.groups] == [8, 32, 64]
    with pytest.raises(HatchelError, match="variables: one number for each of the 2 sides, got 1"):
        Nvae((1, 4), (8,))
    with pytest.raises(HatchelError, match="sides: each must be a multiple of the one before"):
        Nvae((4, 6), (1, 1))


def test_posteriors_are_relative_to_priors() -> None:
    """With the mergers' last layers at 0: mu_q = mu_p + dmu and log var_q = log var_p + the encoder's numbers."""
    latent = Nvae((1, 2), (2, 1), channels=3)
    module = latent.build().double()
    for merger in module.mergers:
        merger[-1].weight.data.zero_()
        merger[-1].bias.data.zero_()
    g = torch.Generator().manual_seed(0)
    numbers = torch.randn(4, 2 * latent.width, generator=g, dtype=torch.float64)
    q = module.posterior(numbers)
    z = torch.randn(4, latent.width, generator=g, dtype=torch.float64)
    pairs = numbers.unflatten(1, (-1, 2))
    state = module.states(z)[1]
    below = module.priors[0](F.silu(state)).flatten(2)  # (B, 2, 4): one variable's mean and log-variance
    prior_mean, prior_log = below[:, 0], below[:, 1]
    top = torch.distributions.Normal(pairs[:, :2, 0], (0.5 * pairs[:, :2, 1]).exp())
    bottom = torch.distributions.Normal(prior_mean + pairs[:, 2:, 0], (0.5 * (prior_log + pairs[:, 2:, 1])).exp())
    expected = torch.cat([top.log_prob(z[:, :2]), bottom.log_prob(z[:, 2:])], 1).sum(1)
    torch.testing.assert_close(q.log_prob(z, q.layout.whole), expected)
    # Eq. 3 of the paper: the relative KL, 1/2 (dmu^2/sigma^2 + dsigma^2 - log dsigma^2 - 1).
    ratio = pairs[:, 2:, 1]
    kl = 0.5 * (pairs[:, 2:, 0].square() / prior_log.exp() + ratio.exp() - ratio - 1)
    torch.testing.assert_close(module.prior_at().kl(q, z)[:, 2:], kl)


def test_the_decoder_reads_the_last_state_which_knows_every_group() -> None:
    latent = Nvae((1, 4), (2, 1), channels=3)
    module = latent.build()
    z = torch.randn(2, latent.width, generator=torch.Generator().manual_seed(0)).requires_grad_()
    read = module.decoder_input(z, 0)
    assert read.shape == (2, latent.decoder_width)
    state = module.states(z)[-1]
    torch.testing.assert_close(read, state.permute(0, 2, 3, 1).flatten(1))
    read.square().sum().backward()
    assert (z.grad != 0).all()
