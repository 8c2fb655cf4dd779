"""TopDown: a layer's KL given the layers above, and what parts of layers cannot have."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.latents.ladder import Ladder
from hatchel.latents.nvae import Nvae
from hatchel.latents.top_down import TopDownPosterior
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.objective import Objective
from hatchel.objective.terms.decomposition import AggregateKL, DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import KL, ClosedKL
from hatchel.objective.trace import Trace
from tests.conftest import trace_of

LATENTS = {"ladder": Ladder((3, 2)), "nvae": Nvae((1, 2), (2, 1), channels=4)}


def posterior(kind: str, batch: int = 3) -> TopDownPosterior:
    latent = LATENTS[kind]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = latent.build().double()
    g = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        parameter.data += torch.randn(parameter.shape, generator=g, dtype=torch.float64) / 4
    return module.posterior(torch.randn(batch, sum(latent.widths), generator=g, dtype=torch.float64))


def trace(q: TopDownPosterior) -> Trace:
    z = q.rsample(torch.Generator().manual_seed(2))
    return trace_of(q, z, q.network.prior_at(), n_data=100)


@pytest.mark.parametrize("kind", LATENTS)
def test_each_layers_kl_is_the_mean_of_the_drawn_one_with_less_noise(kind: str) -> None:
    many = posterior(kind).map_tensors(lambda t: t.repeat(4000, 1))
    z = many.rsample(torch.Generator().manual_seed(0))
    closed = many.network.prior_at().kl(many, z)
    for group in many.layout.groups:
        drawn = (many.log_prob(z, group) - many.network.prior_at().log_prob(z, group)).detach().unflatten(0, (4000, -1))
        exact = closed[:, list(group)].sum(1).detach().unflatten(0, (4000, -1))
        gap, error = (drawn - exact).mean(0).abs(), (drawn - exact).std(0) / 4000**0.5
        assert (gap < 5 * error).all()
        assert (exact.std(0) < drawn.std(0)).all()
    assert (closed >= 0).all()


@pytest.mark.parametrize("kind", LATENTS)
def test_the_term_sums_layers_and_can_be_asked_for_one(kind: str) -> None:
    t = trace(posterior(kind))
    terms = {"kl": 1.0 * KL(), "top": 1.0 * KL(("z2",)), "bottom": 1.0 * KL(("z1",))}
    found = Objective(terms, t.q.layout)(t).terms
    torch.testing.assert_close(found["kl"], found["top"] + found["bottom"])
    torch.testing.assert_close(found["kl"], t.p.kl(t.q, t.z).sum(1).mean().detach())


@pytest.mark.parametrize("kind", LATENTS)
def test_the_code_is_the_path_of_means(kind: str) -> None:
    """With every layer above at its mean, the density of each layer is highest at its own mean."""
    q = posterior(kind)
    best = q.log_prob(q.mean, q.layout.whole)
    for site in q.layout.singles:
        for shift in (-0.1, 0.1):
            moved = q.mean.clone()
            moved[:, site[0]] += shift
            layer = next(group for group in q.layout.groups if site[0] in group)
            assert (q.log_prob(moved, layer) < q.log_prob(q.mean, layer)).all()
    scale = -0.5 * (q.variance.log() + torch.log(torch.tensor(2 * torch.pi))).sum(1)
    torch.testing.assert_close(best, scale)


@pytest.mark.parametrize("kind", LATENTS)
def test_parts_below_the_top_are_refused_with_the_reason(kind: str) -> None:
    t = trace(posterior(kind, 8))
    by = Stratified()
    whole = {"mi": 1.0 * MutualInformation(by), "kl": 1.0 * AggregateKL(by)}
    found = Objective(whole, t.q.layout)(t).terms
    drawn = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    torch.testing.assert_close(found["mi"] + found["kl"], drawn.mean().detach())
    assert t.q.layout.has_marginal(t.q.layout.groups[0])
    assert t.q.layout.has_marginal((0,))
    assert not t.q.layout.has_marginal(t.q.layout.groups[1])
    reason = "of layers drawn one given another a part has a density only together with all layers above it"
    for term in (DimensionKL(by), TotalCorrelation(by), TotalCorrelation(DensityRatio(hidden=4))):
        with pytest.raises(HatchelError, match=reason):
            Objective({"it": 1.0 * term}, t.q.layout)
    with pytest.raises(HatchelError, match="no closed form by coordinate"):
        Objective({"it": 1.0 * ClosedKL()}, t.q.layout)
