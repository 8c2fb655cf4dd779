"""Every latent: sample moments, the diagonal of cross_log_prob is log_prob, marginals, levels."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.spec import from_dict, to_dict
from hatchel.latents.code_noise import CodeNoise, CodePrior
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.ladder import Ladder
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Layout
from hatchel.latents.nvae import Nvae
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.vamp import Vamp
from hatchel.nets.mlp import Mlp
from tests.conftest import MIXED

LATENTS: dict[str, Latent] = {kind: member() for kind, member in Latent.members().items()}
LATENTS |= MIXED
LATENTS |= {"vamp": Vamp(Diagonal(4), 5), "ladder": Ladder((3, 2, 3)), "nvae": Nvae((1, 1), (3, 2), channels=2)}
LATENTS |= {f"hierarchy {spaces}": ScaledHierarchy(Diagonal(4), 3, 2.0, spaces) for spaces in ("linear", "parallel")}


def built(kind: str) -> LatentModule:
    """With parameters of its own away from where they start."""
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
    return module


def posteriors(kind: str, batch: int = 7) -> list[Posterior]:
    """One for each level."""
    latent, module = LATENTS[kind], built(kind)
    g = torch.Generator().manual_seed(1)
    parameters = torch.randn(batch, sum(latent.widths), generator=g, dtype=torch.float64)
    scores = torch.randn(batch, latent.width, generator=g, dtype=torch.float64)
    found = [module.posterior(parameters, 5, level) for level in range(module.layout.levels)]
    return [module.refine(q, lambda z: (z * scores).sum(1), 5) for q in found]


def prior(kind: str) -> Prior:
    return built(kind).prior_at(5)


def decided(layout: Layout, z: torch.Tensor) -> torch.Tensor:
    """Every discrete site as the one-hot of its largest number."""
    result = z.clone()
    for site in layout.sites:
        if site.discrete:
            columns = list(site.columns)
            result[..., columns] = torch.eye(len(columns), dtype=z.dtype)[z[..., columns].argmax(-1)]
    return result


@pytest.mark.parametrize("kind", LATENTS)
def test_cross_log_prob_has_log_prob_on_its_diagonal(kind: str) -> None:
    for q in posteriors(kind):
        z = q.rsample(torch.Generator().manual_seed(1))
        blocks = (q.layout.whole, *q.layout.singles[:3], q.layout.whole[:2], *q.layout.groups)
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
    draws = decided(q.layout, many.unflatten(0, (4000, -1)))
    # Of layers drawn one given another, `mean` and `variance` are moments of the top layer alone.
    known = tuple(s for group in q.layout.groups if q.layout.has_marginal(group) for s in group)
    own = q.layout.columns(known)
    draws, mean, variance = draws[..., own], q.mean[:, own], q.variance[:, own]
    error = variance.sqrt() / 4000**0.5
    assert ((draws.mean(0) - mean).abs() <= 5 * error).all()
    torch.testing.assert_close(draws.var(0), variance, rtol=0.15, atol=0.01)
    real = [i for i, c in enumerate(own) if c in q.layout.real]
    assert (draws[..., real].var(0) / variance[:, real] - 1).abs().max() < 0.15


@pytest.mark.parametrize("kind", LATENTS)
def test_width_and_sites(kind: str) -> None:
    latent = LATENTS[kind]
    assert from_dict(Latent, to_dict(latent)) == latent
    for q in posteriors(kind):
        layout = latent.layout
        assert q.layout == layout == prior(kind).layout
        assert len(latent.widths) == len(layout.sites) == len(layout.singles)
        assert [c for site in layout.sites for c in site.columns] == list(range(latent.width))
        assert latent.width == q.mean.shape[1] == q.code(hard=True).shape[1]
        assert sorted(q.layout.whole) == list(range(len(q.layout.singles)))
        assert len(q.layout.names) == len(q.layout.groups)
        assert (q.clusters() is None) == q.layout.continuous == (len(q.layout.real) == latent.width)
        torch.testing.assert_close(q.code(hard=True), decided(q.layout, q.mean))
        for coarse, fine in zip(q.layout.nesting, (*q.layout.nesting[1:], q.layout.singles), strict=True):
            assert (
                tuple(s for block in coarse for s in block)
                == tuple(s for block in fine for s in block)
                == q.layout.whole
            )
            assert all(any(set(part) <= set(block) for block in coarse) for part in fine)


@pytest.mark.parametrize("kind", LATENTS)
def test_what_the_decoder_reads(kind: str) -> None:
    latent = LATENTS[kind]
    module = latent.build()
    z = torch.randn(3, latent.width)
    seen = [module.decoder_input(z, level) for level in range(latent.layout.levels)]
    assert all(s.shape == (3, latent.decoder_width) for s in seen)
    if latent.layout.layered:  # the decoder reads something that is made of z, in place of z
        (one,) = seen
        assert not torch.equal(one, module.decoder_input(z + 1, 0))
        return
    assert all(torch.equal(s[:, : latent.width], z) for s in seen)
    assert all(not torch.equal(seen[0], other) for other in seen[1:])


@pytest.mark.parametrize("kind", LATENTS)
def test_closed_kl_is_the_mean_of_the_drawn_one(kind: str) -> None:
    """At every level, and of layers too, whose KL is closed given the draws above."""
    p = prior(kind)
    for q in posteriors(kind):
        many = q.map_tensors(lambda t: t.repeat(3000, 1))
        z = many.rsample(torch.Generator().manual_seed(0))
        closed = p.kl(many, z)
        assert q.layout.closed_kl == (closed is not None and not q.layout.layered)
        if closed is None:
            assert not q.layout.continuous or not p.factorised
            continue
        drawn = many.log_prob(z, q.layout.whole) - p.log_prob(z, q.layout.whole)
        gap = (drawn - closed.sum(1)).detach().unflatten(0, (3000, -1))
        assert (gap.mean(0).abs() < 5 * gap.std(0) / 3000**0.5 + 1e-9).all()


@pytest.mark.parametrize("kind", LATENTS)
def test_the_prior_is_a_density_with_consistent_marginals(kind: str) -> None:
    """p(z_site) by importance sampling of the others must be the marginal that `log_prob` gives."""
    q, p = posteriors(kind)[0], prior(kind)
    if p.factorised:
        z = q.rsample(torch.Generator().manual_seed(3))
        parts = torch.stack([p.log_prob(z, site) for site in q.layout.singles]).sum(0)
        torch.testing.assert_close(p.log_prob(z, q.layout.whole), parts)
        return
    first, rest = q.layout.coordinates[:1], q.layout.coordinates[1:]
    generator = torch.Generator().manual_seed(0)
    fixed = q.rsample(generator)[:1]
    wide = 2.0 * torch.randn(200_000, len(rest), generator=generator, dtype=torch.float64)
    proposal = torch.distributions.Normal(0.0, 2.0).log_prob(wide).sum(1)
    z = fixed.expand(len(wide), -1).clone()
    z[:, q.layout.columns(rest)] = wide
    with torch.no_grad():
        weights = (p.log_prob(z, first + rest) - proposal).exp()
        expected = float(p.log_prob(fixed, first).exp())
    found, error = float(weights.mean()), float(weights.std()) / len(wide) ** 0.5
    assert abs(found - expected) < 5 * error


SAMPLED = LATENTS | {
    "code_noise uniform": CodeNoise(3, (), 2, "uniform"),
    "code_noise classes": CodeNoise(2, (3, 2), 2, "uniform"),
}
"""With priors that no posterior has a finite KL to."""


@pytest.mark.parametrize("kind", SAMPLED)
def test_draws_of_the_prior_have_its_density(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """E_p[q(z)/p(z)] = 1 for any q whose support is p's, here normal coordinates that the draws themselves suggest.

    Discrete sites are left to the next test: their draws may be decided, where the density is of the relaxation.
    """
    monkeypatch.setitem(LATENTS, kind, SAMPLED[kind])
    p = prior(kind)
    layers = p.layout.groups[0] + p.layout.groups[1] if p.layout.layered else p.layout.coordinates[:3]
    block = tuple(s for s in layers if s in p.layout.coordinates)
    assert p.layout.has_marginal(block)
    with torch.no_grad():
        z = p.sample(100_000, torch.Generator().manual_seed(0)).double()
        own = z[:, p.layout.columns(block)]
        assert own.isfinite().all()
        # Narrower than p, so that the ratio has a variance; within [-1, 1] where p ends there.
        narrow = torch.distributions.Normal(own.mean(0), 0.3 * own.std(0))
        ratio = (narrow.log_prob(own).sum(1) - p.log_prob(z, block)).exp()
    assert abs(float(ratio.mean()) - 1) < 5 * float(ratio.std()) / len(z) ** 0.5 + 1e-3


@pytest.mark.parametrize("kind", SAMPLED)
def test_draws_of_the_prior_have_its_moments(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of standard priors: mean 0, covariance I, equal classes; the learned ones are tested by latent."""
    monkeypatch.setitem(LATENTS, kind, SAMPLED[kind])
    p = prior(kind)
    with torch.no_grad():
        z = p.sample(50_000, torch.Generator().manual_seed(0)).double()
    assert z.shape == (50_000, p.layout.width)
    for s in p.layout.discrete:
        columns = p.layout.columns((s,))
        torch.testing.assert_close(z[:, columns].sum(1), torch.ones(50_000).double(), atol=1e-5, rtol=0)
        if not p.learned:
            found = decided(p.layout, z)[:, columns].mean(0)
            torch.testing.assert_close(found, torch.full_like(found, 1 / len(columns)), atol=0.02, rtol=0)
    real = z[:, p.layout.real]
    if (p.standard or isinstance(p, CodePrior)) and not p.learned and real.shape[1] > 1:
        variance = 1.0 if p.standard else 1 / 3  # of a uniform one on [-1, 1]
        assert real.mean(0).abs().max() < 0.03
        torch.testing.assert_close(torch.cov(real.T), variance * torch.eye(real.shape[1]).double(), atol=0.04, rtol=0)
