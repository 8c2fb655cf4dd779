"""Every latent: sample moments, the diagonal of cross_log_prob is log_prob, marginals, levels."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.spec import from_dict, to_dict
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.ladder import Ladder
from hatchel.latents.latent import Latent
from hatchel.latents.nvae import Nvae
from hatchel.latents.posterior import Posterior
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.vamp import Vamp
from hatchel.nets.mlp import Mlp
from tests.conftest import MIXED

LATENTS: dict[str, Latent] = {kind: member() for kind, member in Latent.members().items()}
LATENTS |= MIXED
LATENTS |= {"vamp": Vamp(Diagonal(4), 5), "ladder": Ladder((3, 2, 3)), "nvae": Nvae((1, 1), (3, 2), channels=2)}
LATENTS |= {f"hierarchy {spaces}": ScaledHierarchy(Diagonal(4), 3, 2.0, spaces) for spaces in ("linear", "parallel")}


def posteriors(kind: str, batch: int = 7) -> list[Posterior]:
    """One for each level, with parameters of its own away from where they start."""
    latent = LATENTS[kind]
    g = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():  # initial weights that do not depend on which tests came before
        torch.manual_seed(0)
        module = latent.build()
        module.bind_encoder(Mlp((8,)).build((3,), latent.widths).double(), (3,))
    module.double()
    for parameter in module.parameters():
        # Deep layers multiply it: more, and no proposal covers the lowest layer's prior.
        parameter.data += torch.randn(parameter.shape, generator=g, dtype=torch.float64) / (
            12 if kind == "ladder" else 3
        )
    parameters = torch.randn(batch, sum(latent.widths), generator=g, dtype=torch.float64)
    scores = torch.randn(batch, latent.width, generator=g, dtype=torch.float64)
    found = [module.posterior(parameters, 5, level) for level in range(module.levels)]
    found = [module.refine(q, lambda z: (z * scores).sum(1), 5) for q in found]
    assert [q.level for q in found] == list(range(module.levels))
    assert all(q.levels == module.levels for q in found)
    return found


def decided(q: Posterior, z: torch.Tensor) -> torch.Tensor:
    """Every discrete site as the one-hot of its largest number."""
    result = z.clone()
    for site in q.sites:
        columns = q.columns(torch.arange(z.shape[-1])[None], site)[0]
        if len(columns) > 1:
            result[..., columns] = torch.eye(len(columns), dtype=z.dtype)[z[..., columns].argmax(-1)]
    return result


@pytest.mark.parametrize("kind", LATENTS)
def test_cross_log_prob_has_log_prob_on_its_diagonal(kind: str) -> None:
    for q in posteriors(kind):
        z = q.rsample(torch.Generator().manual_seed(1))
        blocks = (q.whole, *q.sites[:3], q.whole[:2], *q.groups)
        cross = q.cross_log_prob(z, blocks)
        for row, block in zip(cross, blocks, strict=True):
            torch.testing.assert_close(row.diagonal(), q.log_prob(z, block))
            # Off the diagonal: code 2 under the posterior of input 4.
            torch.testing.assert_close(row[2, 4:5], q.map_tensors(lambda t: t[4:5]).log_prob(z[2:3], block))


@pytest.mark.parametrize("kind", LATENTS)
def test_sample_moments(kind: str) -> None:
    """Of a discrete site: those of the class that is largest, whose probability is exact (Maddison et al., Prop. 1)."""
    q = posteriors(kind)[-1]
    many = q.map_tensors(lambda t: t.repeat(4000, 1)).rsample(torch.Generator().manual_seed(0))
    draws = decided(q, many.unflatten(0, (4000, -1)))
    # Of layers drawn one given another, `mean` and `variance` are moments of the top layer alone.
    known = tuple(s for group in q.groups if q.has_marginal(group) for s in group)
    own = q.columns(torch.arange(draws.shape[-1])[None], known)[0]
    draws, mean, variance = draws[..., own], q.mean[:, own], q.variance[:, own]
    error = variance.sqrt() / 4000**0.5
    assert ((draws.mean(0) - mean).abs() <= 5 * error).all()
    torch.testing.assert_close(draws.var(0), variance, rtol=0.15, atol=0.01)
    real = [i for i, c in enumerate(own.tolist()) if c in q.real]
    assert (draws[..., real].var(0) / variance[:, real] - 1).abs().max() < 0.15


@pytest.mark.parametrize("kind", LATENTS)
def test_width_and_sites(kind: str) -> None:
    latent = LATENTS[kind]
    assert from_dict(Latent, to_dict(latent)) == latent
    for q in posteriors(kind):
        assert len(latent.widths) == len(q.sites)
        assert latent.width == q.mean.shape[1] == q.code(hard=True).shape[1]
        assert sorted(q.whole) == list(range(len(q.sites)))
        assert len(q.names) == len(q.groups)
        assert (q.clusters() is None) == q.continuous == (len(q.real) == latent.width)
        torch.testing.assert_close(q.code(hard=True), decided(q, q.mean))
        for coarse, fine in zip(q.nesting, (*q.nesting[1:], q.sites), strict=True):
            assert tuple(s for block in coarse for s in block) == tuple(s for block in fine for s in block) == q.whole
            assert all(any(set(part) <= set(block) for block in coarse) for part in fine)


@pytest.mark.parametrize("kind", LATENTS)
def test_what_the_decoder_reads(kind: str) -> None:
    latent = LATENTS[kind]
    module = latent.build()
    z = torch.randn(3, latent.width)
    seen = [module.decoder_input(z, level) for level in range(module.levels)]
    assert all(s.shape == (3, latent.decoder_width) for s in seen)
    if module.transforms:
        (one,) = seen
        assert not torch.equal(one, module.decoder_input(z + 1, 0))
        return
    assert all(torch.equal(s[:, : latent.width], z) for s in seen)
    assert all(not torch.equal(seen[0], other) for other in seen[1:])


@pytest.mark.parametrize("kind", LATENTS)
def test_closed_kl_is_the_mean_of_the_drawn_one(kind: str) -> None:
    for q in posteriors(kind):
        closed = q.kl()
        if closed is None:
            assert not q.continuous or not q.factorised_prior
            continue
        many = q.map_tensors(lambda t: t.repeat(3000, 1))
        z = many.rsample(torch.Generator().manual_seed(0))
        values = (many.log_prob(z, q.whole) - many.prior_log_prob(z, q.whole)).unflatten(0, (3000, -1))
        assert ((values.mean(0) - closed.sum(1)).abs() < 5 * values.std(0) / 3000**0.5).all()


@pytest.mark.parametrize("kind", LATENTS)
def test_the_prior_is_a_density_with_consistent_marginals(kind: str) -> None:
    """p(z_site) by importance sampling of the others must be the marginal that prior_log_prob gives."""
    q = posteriors(kind)[0]
    if q.factorised_prior:
        z = q.rsample(torch.Generator().manual_seed(3))
        parts = torch.stack([q.prior_log_prob(z, site) for site in q.sites]).sum(0)
        torch.testing.assert_close(q.prior_log_prob(z, q.whole), parts)
        return
    real = [s for s in q.whole if q.columns(q.mean, (s,)).shape[1] == 1]
    first, rest = (real[0],), tuple(real[1:])
    generator = torch.Generator().manual_seed(0)
    fixed = q.rsample(generator)[:1]
    columns = q.columns(torch.arange(fixed.shape[1])[None], rest)[0]
    wide = 2.0 * torch.randn(200_000, len(rest), generator=generator, dtype=torch.float64)
    proposal = torch.distributions.Normal(0.0, 2.0).log_prob(wide).sum(1)
    z = fixed.expand(len(wide), -1).clone()
    z[:, columns] = wide
    with torch.no_grad():
        weights = (q.prior_log_prob(z, first + rest) - proposal).exp()
        expected = float(q.prior_log_prob(fixed, first).exp())
    found, error = float(weights.mean()), float(weights.std()) / len(wide) ** 0.5
    assert abs(found - expected) < 5 * error
