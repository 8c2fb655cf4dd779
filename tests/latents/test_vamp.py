"""Vamp: its prior against torch.distributions, and what learns from it."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from hatchel.core.errors import HatchelError
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.likelihoods import Bernoulli
from hatchel.latents.vamp import Vamp
from hatchel.nets.conv import Conv, Deconv
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.objective.trace import Batch
from hatchel.training.model import Model

SHAPE = (1, 16, 16)


def image_model(components: int = 6, dim: int = 3) -> Model:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Model(Conv(), Vamp(Diagonal(dim), components), Deconv(), Bernoulli(), SHAPE).double()


def test_the_prior_is_the_mixture_of_the_pseudo_inputs_posteriors() -> None:
    model = image_model()
    pseudo = model.latent.pseudo_inputs
    pseudo.data = 3 * torch.randn(pseudo.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    numbers = model.encoder(pseudo.clamp(0, 1)).parameters.unflatten(1, (-1, 2))
    mean, deviation = numbers[..., 0], (0.5 * numbers[..., 1]).exp()
    p = model.latent.prior_at()
    z = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for block in ((0, 1, 2), (1,), (2, 0)):
        chosen = list(block)
        parts = Independent(Normal(mean[:, chosen], deviation[:, chosen]), 1)
        mixture = MixtureSameFamily(Categorical(torch.ones(6, dtype=torch.float64)), parts)
        torch.testing.assert_close(p.log_prob(z, block), mixture.log_prob(z[:, chosen]))


def test_the_kl_teaches_pseudo_inputs_and_encoder() -> None:
    model = image_model()
    t = model(Batch(torch.rand(4, *SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(2)), 100))
    kl = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    kl.sum().backward()
    gradient = model.latent.pseudo_inputs.grad
    assert (gradient.flatten(1).abs().sum(1) > 0).all()
    names = [name for name, _ in model.named_parameters()]
    assert len(names) == len(set(names))
    assert sum("encoder" in name for name in names) == len(list(model.encoder.parameters()))


def test_one_component_whose_posterior_is_standard_makes_a_plain_vae() -> None:
    """An encoder that says N(0, I) of its one pseudo-input: log p is N(0, I)'s."""
    model = Model(Mlp(()), Vamp(Diagonal(2), 1), MlpDecoder(()), Bernoulli(), (3,))
    model.encoder.head[1].bias.data.zero_()
    model.latent.pseudo_inputs.data.zero_()
    t = model(Batch(torch.randn(4, 3), 100))
    expected = Normal(0.0, 1.0).log_prob(t.z).sum(1)
    torch.testing.assert_close(t.p.log_prob(t.z, (0, 1)), expected)


def test_pseudo_images_are_images_and_a_latent_alone_says_what_it_lacks() -> None:
    pseudo = image_model(200).latent.pseudo_inputs.detach()
    assert 0 <= float(pseudo.min()) < 0.01
    assert 0.99 < float(pseudo.max()) <= 1
    with pytest.raises(HatchelError, match="no prior until it is bound to an encoder"):
        Vamp(Diagonal(2)).build().prior_at().log_prob(torch.zeros(1, 2), (0,))
