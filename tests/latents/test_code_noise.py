"""CodeNoise: what is drawn, its entropy, and what the encoder is asked."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, Normal, Uniform

from hatchel.latents.code_noise import CodeNoise


@pytest.mark.parametrize(("prior", "truth"), [("normal", Normal(0.0, 1.0)), ("uniform", Uniform(-1.0, 1.0))])
def test_draws_and_their_entropy(prior: str, truth: torch.distributions.Distribution) -> None:
    latent = CodeNoise(code=2, classes=(3, 2), noise=4, prior=prior)
    module = latent.build()
    p, source = module.prior_at(), torch.Generator().manual_seed(5)
    code = p.sample(20_000, source)
    read = module.decoder_input(code, 0, source)
    assert code.shape == (20_000, 7)
    assert read.shape == (20_000, latent.decoder_width) == (20_000, 11)
    torch.testing.assert_close(read[:, :7], code)
    assert torch.equal(module.decoder_input(code, 0)[:, 7:], torch.zeros(20_000, 4))
    torch.testing.assert_close(code[:, :3].mean(0), torch.full((3,), 1 / 3), atol=0.02, rtol=0)
    torch.testing.assert_close(code[:, 3:5].sum(1), torch.ones(20_000))
    assert code[:, :5].unique().tolist() == [0, 1]
    torch.testing.assert_close(code[:, 5:].std(0), truth.stddev.expand(2), atol=0.02, rtol=0)
    torch.testing.assert_close(read[:, 7:].std(0), torch.ones(4), atol=0.02, rtol=0)
    expected = 2 * float(truth.entropy()) + math.log(3) + math.log(2)
    assert p.entropy == pytest.approx(expected, rel=1e-6)
    again, other = (p.sample(20_000, torch.Generator().manual_seed(seed)) for seed in (5, 6))
    assert torch.equal(code, again)
    assert not torch.equal(code, other)


@pytest.mark.parametrize("prior", ["normal", "uniform"])
def test_q_is_normal_for_coordinates_and_categorical_for_classes(prior: str) -> None:
    latent = CodeNoise(code=2, classes=(3,), noise=4, prior=prior)
    module = latent.build()
    numbers = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    code = module.prior_at().sample(5, torch.Generator().manual_seed(0))
    classes = Categorical(logits=numbers[:, :3]).log_prob(code[:, :3].argmax(1))
    normal = Normal(numbers[:, [3, 5]], (0.5 * numbers[:, [4, 6]]).exp()).log_prob(code[:, 3:]).sum(1)
    torch.testing.assert_close(module.posterior(numbers).code_log_prob(code), classes + normal)


def test_the_uniform_prior_has_no_density_outside() -> None:
    module = CodeNoise(code=2, classes=(3,), noise=1, prior="uniform").build()
    q, p = module.posterior(torch.zeros(2, 7)), module.prior_at()
    z = torch.tensor([[1.0, 0, 0, 0.5, -0.9], [0, 0, 1, 0.5, 1.1]])
    assert p.log_prob(z, q.layout.coordinates).tolist() == pytest.approx([-2 * math.log(2), -math.inf])
    assert p.kl(q, z) is None
    assert q.clusters().shape == (2, 1)
