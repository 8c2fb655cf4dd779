"""Every latent: sample moments, and the diagonal of cross_log_prob is log_prob."""

from __future__ import annotations

import pytest
import torch

from hatchel.latents.latent import Latent

LATENTS = Latent.members()


def posterior(kind: str, batch: int = 7):
    latent = LATENTS[kind]()
    g = torch.Generator().manual_seed(0)
    parameters = torch.randn(batch, sum(latent.widths), generator=g, dtype=torch.float64)
    return latent, latent.build().posterior(parameters)


@pytest.mark.parametrize("kind", LATENTS)
def test_cross_log_prob_has_log_prob_on_its_diagonal(kind: str) -> None:
    _, q = posterior(kind)
    z = q.rsample(torch.Generator().manual_seed(1))
    blocks = (q.whole, *q.sites[:3], q.whole[:2])
    cross = q.cross_log_prob(z, blocks)
    for row, block in zip(cross, blocks, strict=True):
        torch.testing.assert_close(row.diagonal(), q.log_prob(z, block))
        # Off the diagonal: code 2 under the posterior of input 4.
        torch.testing.assert_close(row[2, 4:5], q.mapped(lambda t: t[4:5]).log_prob(z[2:3], block))


@pytest.mark.parametrize("kind", LATENTS)
def test_sample_moments(kind: str) -> None:
    _, q = posterior(kind)
    draws = torch.stack([q.rsample(torch.Generator().manual_seed(s)) for s in range(4000)])
    error = draws.std(0) / 4000**0.5
    assert ((draws.mean(0) - q.mean).abs() < 5 * error).all()
    torch.testing.assert_close(draws.var(0), q.variance, rtol=0.15, atol=0)


@pytest.mark.parametrize("kind", LATENTS)
def test_width_and_sites(kind: str) -> None:
    latent, q = posterior(kind)
    assert len(latent.widths) == len(q.sites)
    assert latent.width == q.mean.shape[1]
    assert sorted(q.whole) == list(range(len(q.sites)))
