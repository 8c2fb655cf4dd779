"""Model: its draws, and a trace that computes what is read and no more."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.latents.code_noise import CodeNoise
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.ladder import Ladder
from hatchel.latents.latent import Latent
from hatchel.latents.likelihoods import Bernoulli
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.vamp import Vamp
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.nets.part import feature_shapes
from hatchel.objective.trace import Batch
from hatchel.training.model import Model


def model(latent: Latent) -> Model:
    torch.manual_seed(0)
    return Model(Mlp((8,)), latent, MlpDecoder((8,)), Bernoulli(), (5,))


@pytest.mark.parametrize("latent", [Diagonal(3), Ladder((3, 2)), Vamp(Diagonal(2), 4), ScaledHierarchy(Diagonal(2))])
def test_draws_are_decoded_codes_of_the_prior(latent: Latent) -> None:
    made = model(latent)
    with torch.no_grad():
        z, x = made.generate(6, generator(0, "prior"))
        torch.testing.assert_close(z, made.latent.prior_at().sample(6, generator(0, "prior")))
        torch.testing.assert_close(x, made.decode(z))
        if latent.layout.levels > 1:
            other = made.generate(6, generator(0, "prior"), level=1)
            assert torch.equal(other.z, z)
            torch.testing.assert_close(other.x, made.decode(z, 1))


def test_draws_of_a_generator_have_noise_and_reconstructions_have_none() -> None:
    made = model(CodeNoise(2, (3,), 4))
    with torch.no_grad():
        z, x = made.generate(6, generator(0, "prior"))
        source = generator(0, "prior")
        code = made.latent.prior_at().sample(6, source)
        noise = torch.randn(6, 4, generator=source)
        assert torch.equal(z, code)
        torch.testing.assert_close(x, made.decoder(torch.cat([code, noise], 1)).sigmoid())
        torch.testing.assert_close(made.decode(z), made.decoder(torch.cat([code, 0 * noise], 1)).sigmoid())


def test_a_trace_encodes_other_items_when_they_are_read() -> None:
    made = model(CodeNoise(2, noise=1))
    seen: list[int] = []
    made.encoder.register_forward_hook(lambda _module, given, _result: seen.append(len(given[0])))
    x = torch.rand(4, 5)
    t = made(Batch(x, 100, 2, 7, independent=x[:3], labelled=(x[:2], torch.zeros(2, 1))))
    assert seen == [4]
    assert t.z_independent.shape == (3, 2)
    assert not t.z_independent.requires_grad
    assert t.labelled[0].requires_grad
    torch.testing.assert_close(t.labelled[0], t.q.mean[:2])
    assert t.generated.code.shape == (4, 2)
    assert seen == [4, 3, 2, 4]
    assert t.generated is t.generated
    assert seen == [4, 3, 2, 4]
    bare = made(Batch(x, 100))
    for part in ("z_independent", "labelled"):
        with pytest.raises(HatchelError, match="a term needs"):
            getattr(bare, part)


def test_shapes_of_features_leave_the_encoder_as_it_was() -> None:
    encoder = Mlp((8, 6)).build((5,), (2, 2)).train()
    assert feature_shapes(encoder, (5,)) == {"hidden1": (8,), "hidden2": (6,)}
    assert encoder.training
