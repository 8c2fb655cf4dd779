"""Mixed latents: layout, learned priors in the terms, closed forms, refusals."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch
import yaml
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal, Normal, kl_divergence

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.latents.concrete import Temperature
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.latents.latent import Latent
from hatchel.latents.mixed import Mixed
from hatchel.latents.prior import Prior
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.objective.estimators.gaussian import Gaussian as GaussianDensity
from hatchel.objective.estimators.minibatch import MSS, Stratified
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.objective import Objective, Weighted
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import KL
from hatchel.objective.terms.moments import MMD, CovarianceOffDiagonal, PosteriorVariance
from hatchel.objective.trace import Trace
from tests.conftest import MIXED, gaussian_trace, mixed_trace, trace_of


def as_mixed(t: Trace, latent: Mixed) -> Trace:
    """The same Gaussian posteriors and draws under a mixed latent."""
    numbers = torch.stack([t.q.mean, t.q.log_variance], 2).flatten(1)
    module = latent.build().double()
    return dataclasses.replace(t, q=module.posterior(numbers), p=module.prior_at())


def test_one_gaussian_group_is_the_diagonal_latent() -> None:
    """HFVAE with one group and a factorised prior has beta-TCVAE's terms, whatever the estimator."""
    t = gaussian_trace()
    same = as_mixed(t, Mixed({"z": Gaussian(4)}))
    for by in (MSS(), Stratified(), GaussianDensity()):
        for term in (MutualInformation(by), DimensionKL(by), TotalCorrelation(by), KL()):
            expected = term.value(t, Evaluator(t, {}, {}))
            torch.testing.assert_close(term.value(same, Evaluator(same, {}, {})), expected)
        within = TotalCorrelation(by, over="within").value(same, Evaluator(same, {}, {}))
        torch.testing.assert_close(within, TotalCorrelation(by).value(t, Evaluator(t, {}, {})))


def test_draws_are_the_diagonal_latents() -> None:
    t = gaussian_trace()
    same = as_mixed(t, Mixed({"a": Gaussian(1), "b": Gaussian(3)}))
    a, b = (q.rsample(torch.Generator().manual_seed(5)) for q in (t.q, same.q))
    assert torch.equal(a, b)


def test_layout_does_not_depend_on_the_order_in_a_file() -> None:
    latent = Mixed({"style": Gaussian(2), "class": Concrete(3)})
    assert latent.widths == (3, 2, 2)
    assert latent.width == 5
    again = from_dict(Latent, yaml.safe_load(yaml.safe_dump(to_dict(latent))))
    assert isinstance(again, Mixed)
    assert again.digest() == latent.digest() == from_dict(Latent, json.loads(json.dumps(to_dict(latent)))).digest()
    assert (again.widths, again.build().layout.names) == (latent.widths, latent.build().layout.names)


def test_nested_partitions() -> None:
    q = mixed_trace(MIXED["mixed nested"]).q
    assert q.layout.names == ("what", "where")
    # class 0, colour 1 2, size 3, where 4 5
    assert q.layout.nesting == (
        ((0, 1, 2, 3), (4, 5)),
        ((0,), (1, 2, 3), (4, 5)),
        ((0,), (1, 2), (3,), (4, 5)),
    )
    by = Stratified()
    assert TotalCorrelation(by, over="nested", depth=2).partitions(q.layout) == (((0,), (1, 2, 3)),)
    assert TotalCorrelation(by, over="nested", depth=3).partitions(q.layout) == (((1, 2), (3,)),)
    assert TotalCorrelation(by, over="within").partitions(q.layout) == (((1,), (2,)), ((4,), (5,)))
    assert "nested 3 deep, not 4" in TotalCorrelation(by, over="nested", depth=4).accepts(q.layout)
    assert q.layout.columns((0, 4)) == [0, 1, 2, 6]


def test_a_learned_prior_starts_as_the_standard_one() -> None:
    groups = {"class": Concrete(4), "style": Gaussian(3)}
    numbers = torch.randn(5, 10, generator=torch.Generator().manual_seed(0))
    modules = [Mixed(groups, prior=p).build() for p in ("standard", "groups", "whole")]
    standard, *learned = [module.prior_at() for module in modules]
    z = modules[0].posterior(numbers).rsample(torch.Generator().manual_seed(1))
    for block in (standard.layout.whole, *standard.layout.singles):
        for p in learned:
            torch.testing.assert_close(p.log_prob(z, block), standard.log_prob(z, block))


def test_a_learned_prior_is_a_multivariate_normal_and_enters_the_correlation() -> None:
    t = mixed_trace(Mixed({"class": Concrete(3), "style": Gaussian(3)}, prior="groups"))
    (sigma,) = t.p.parameters.covariances
    normal = MultivariateNormal(torch.zeros(3, dtype=torch.float64), sigma)
    style = t.z[:, 3:]
    torch.testing.assert_close(t.p.log_prob(t.z, (1, 2, 3)), normal.log_prob(style))
    some = MultivariateNormal(torch.zeros(2, dtype=torch.float64), sigma[[2, 0]][:, [2, 0]])
    torch.testing.assert_close(t.p.log_prob(t.z, (3, 1)), some.log_prob(style[:, [2, 0]]))
    # The within term is the posterior's ratio less log p(z_d) / prod_e p(z_de) (Fig. 4, term i).
    evaluator, by = Evaluator(t, {}, {}), Stratified()
    ratio = evaluator.log_ratio(by, ((1,), (2,), (3,)))
    marginals = torch.stack([torch.distributions.Normal(0, sigma[i, i].sqrt()).log_prob(style[:, i]) for i in range(3)])
    own = normal.log_prob(style) - marginals.sum(0)
    torch.testing.assert_close(TotalCorrelation(by, over="within").value(t, evaluator), ratio - own)
    # Between groups the prior factorises: its own ratio is 0.
    between = TotalCorrelation(by, over="groups").value(t, evaluator)
    torch.testing.assert_close(between, evaluator.log_ratio(by, t.q.layout.groups))


def test_a_covariance_over_the_whole_correlates_groups() -> None:
    t = mixed_trace(MIXED["mixed real"])
    evaluator, by = Evaluator(t, {}, {}), Stratified()
    between = TotalCorrelation(by, over="groups").value(t, evaluator)
    assert (between - evaluator.log_ratio(by, t.q.layout.groups)).abs().max() > 0.1


def test_a_learned_prior_reaches_the_moments_of_the_codes() -> None:
    """Maximum likelihood of a prior on fixed correlated codes is their covariance and their class frequencies."""
    latent = Mixed({"class": Concrete(3), "style": Gaussian(2)}, prior="groups")
    module = latent.build().double()
    g = torch.Generator().manual_seed(0)
    numbers = torch.zeros(400, 7, dtype=torch.float64)
    numbers[:, 0] = 1.5
    q = module.posterior(numbers)
    z = q.rsample(g).detach()
    z[:, 4] = 0.9 * z[:, 3] + 0.3 * z[:, 4]
    optimizer = torch.optim.LBFGS(
        module.parameters(), max_iter=300, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = -module.prior_at().log_prob(z, q.layout.whole).mean()
        value.backward()
        return value

    optimizer.step(loss)
    style = z[:, 3:]
    torch.testing.assert_close(module.prior.covariances[0], style.T @ style / 400, rtol=1e-3, atol=1e-4)
    found = module.prior.logits[0].softmax(0)
    torch.testing.assert_close(found, q.mean[0, :3], atol=0.05, rtol=0)


def test_categorical_kl_is_that_of_torch_distributions() -> None:
    latent = Mixed({"class": Concrete(4), "style": Gaussian(2)}, discrete_kl="categorical")
    numbers = torch.randn(6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    module = latent.build()
    q, p = module.posterior(numbers), module.prior_at()
    z = q.rsample(torch.Generator().manual_seed(1))
    closed = p.kl(q, z)
    assert closed is not None
    expected = kl_divergence(Categorical(logits=numbers[:, :4]), Categorical(logits=torch.zeros(6, 4).double()))
    torch.testing.assert_close(closed[:, 0], expected)
    normal = DiagonalGaussian(numbers[:, [4, 6]], numbers[:, [5, 7]])
    gaussian = StandardNormal(normal.layout).kl(normal, z)
    torch.testing.assert_close(closed[:, 1:], gaussian)
    t = trace_of(q, z, p)
    parts = [KL((name,)).value(t, Evaluator(t, {}, {})) for name in ("class", "style")]
    torch.testing.assert_close(parts[0], expected)
    torch.testing.assert_close(sum(parts), KL().value(t, Evaluator(t, {}, {})))


def test_drawn_kl_of_groups_adds_up() -> None:
    t = mixed_trace(MIXED["mixed learned"])
    assert t.p.kl(t.q, t.z) is None
    parts = [KL((name,)).value(t, Evaluator(t, {}, {})) for name in ("class", "style")]
    torch.testing.assert_close(sum(parts), KL().value(t, Evaluator(t, {}, {})))


def test_temperature_follows_the_step() -> None:
    latent = Mixed({"class": Concrete(3)}, temperature=Temperature(2.0, 0.5, 100))
    module = latent.build()
    numbers = torch.zeros(2000, 3)
    at = [module.posterior(numbers, step).temperature for step in (0, 50, 100, None)]
    assert at == pytest.approx([2.0, 1.0, 0.5, 0.5])
    spread = [
        module.posterior(numbers, s).rsample(torch.Generator().manual_seed(0)).max(1).values.mean() for s in (0, 100)
    ]
    assert float(spread[0]) < 0.6 < 0.75 < float(spread[1])


def test_representations() -> None:
    latent = Mixed({"class": Concrete(3), "style": Gaussian(1)})
    q = latent.build().posterior(torch.tensor([[0.0, 2.0, 1.0, 0.7, -1.0]]))
    torch.testing.assert_close(q.code()[:, :3], torch.tensor([[0.0, 2.0, 1.0]]).softmax(1))
    torch.testing.assert_close(q.code(hard=True), torch.tensor([[0.0, 1.0, 0.0, 0.7]]))
    clusters = q.clusters()
    assert clusters is not None
    assert clusters.tolist() == [[1]]
    assert q.layout.real == [3]


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (
            CovarianceOffDiagonal(),
            "covariance_off_diagonal does not fit this latent: a covariance needs real coordinates",
        ),
        (PosteriorVariance(), "posterior variance needs real coordinates"),
        (MMD(), "MMD needs real coordinates"),
        (TotalCorrelation(GaussianDensity()), "gaussian does not fit this latent: a normal density needs real"),
        (KL(("shape",)), "it has the groups class, style, not shape"),
        (TotalCorrelation(Stratified(), over="nested"), "nested 1 deep, not 2; use over='within'"),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_what_cannot_be_is_refused_with_the_reason(term, reason: str) -> None:
    with pytest.raises(HatchelError, match=f"objective.it: .*{reason.split(': ')[-1]}"):
        Objective({"it": Weighted(term)}, mixed_trace(MIXED["mixed"]).q.layout)


def test_mmd_compares_with_draws_of_a_learned_prior() -> None:
    """Codes drawn from the learned prior are at distance 0 from it, and N(0, I) is not."""
    t = mixed_trace(MIXED["mixed real"])
    g = torch.Generator().manual_seed(0)
    standard = StandardNormal(t.q.layout)

    def distance(z: torch.Tensor, p: Prior) -> torch.Tensor:
        return MMD().value(dataclasses.replace(t, z=z.double(), p=p), Evaluator(t, {}, {})).detach()

    own = torch.stack([distance(t.p.sample(256, g), t.p) for _ in range(20)])
    assert abs(float(own.mean())) < 4 * float(own.std()) / 20**0.5 + 1e-3
    assert float(distance(t.p.sample(256, g), standard)) > 10 * abs(float(own.mean()))


def test_bad_groups_are_refused() -> None:
    with pytest.raises(HatchelError, match="groups: a latent needs at least one group"):
        Mixed({})
    with pytest.raises(HatchelError, match=r"groups.c.classes: input should be greater than or equal to 2, got 1"):
        from_dict(Latent, {"kind": "mixed", "groups": {"c": {"kind": "concrete", "classes": 1}}})
    with pytest.raises(HatchelError, match="unknown variable 'concret'"):
        from_dict(Latent, {"kind": "mixed", "groups": {"c": "concret"}})


def by_class(equal: bool = False) -> tuple[Mixed, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A latent whose style reads the class, and for 6 inputs logits (B, K), means and deviations (B, G, K)."""
    latent = Mixed({"class": Concrete(4), "style": Gaussian(2)}, discrete="pmf", reads_class=True)
    numbers = torch.randn(6, 4 + 2 * 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    tables = numbers[:, 4:].unflatten(1, (2, 4, 2))
    if equal:
        tables[:] = tables[:, :, :1].clone()
    return latent, numbers, tables[..., 0], (0.5 * tables[..., 1]).exp()


def test_style_given_the_class_has_the_density_of_the_drawn_class() -> None:
    latent, numbers, mean, std = by_class()
    module = latent.build()
    q, z = module.posterior(numbers).draw(torch.Generator().manual_seed(0))
    own = Categorical(logits=numbers[:, :4])
    c, style = z[:, :4], z[:, 4:]
    shares = c[:, None, :]
    at, scale = (shares * mean).sum(2), (shares * std.log()).sum(2).exp()  # (B, G)
    normal = Normal(at, scale)
    torch.testing.assert_close(q.log_prob(z, q.layout.whole), own.log_prob(c.argmax(1)) + normal.log_prob(style).sum(1))
    # Of code i under item j: the class of i, the style of j's own class.
    cross = q.cross_log_prob(z, (q.layout.whole, (1,)))
    for i in range(6):
        under = Normal(at, scale).log_prob(style[i])  # (B, G)
        torch.testing.assert_close(cross[0, i], own.log_prob(c[i].argmax().expand(6)) + under.sum(1))
        torch.testing.assert_close(cross[1, i], under[:, 0])
    # A code can be asked about before any is drawn, other items' codes cannot.
    torch.testing.assert_close(module.posterior(numbers).log_prob(z, (1, 2)), q.log_prob(z, (1, 2)))
    with pytest.raises(TypeError, match="no class was drawn"):
        module.posterior(numbers).cross_log_prob(z, ((0,),))


def test_its_moments_are_those_of_a_mixture_over_classes() -> None:
    latent, numbers, mean, std = by_class()
    q = latent.build().posterior(numbers)
    mixing = Categorical(logits=numbers[:, None, :4].expand(6, 2, 4))
    mixture = MixtureSameFamily(mixing, Normal(mean, std))
    torch.testing.assert_close(q.mean[:, 4:], mixture.mean)
    torch.testing.assert_close(q.variance[:, 4:], mixture.variance)
    decided = numbers[:, :4].argmax(1)
    torch.testing.assert_close(q.code(hard=True)[:, 4:], mean[torch.arange(6), :, decided])


def test_with_the_same_style_for_every_class_it_is_the_plain_posterior() -> None:
    latent, numbers, mean, std = by_class(equal=True)
    plain = Mixed(latent.groups, discrete="pmf")
    style = torch.stack([mean[..., 0], 2 * std[..., 0].log()], 2).flatten(1)
    same = plain.build().posterior(torch.cat([numbers[:, :4], style], 1))
    q, z = latent.build().posterior(numbers).draw(torch.Generator().manual_seed(1))
    torch.testing.assert_close(z, same.rsample(torch.Generator().manual_seed(1)))
    for block in (q.layout.whole, (1,)):
        torch.testing.assert_close(q.cross_log_prob(z, (block,)), same.cross_log_prob(z, (block,)))


def test_what_cannot_read_a_class_is_refused() -> None:
    for groups in ({"z": Gaussian(2)}, {"c": Concrete(3)}, {"c": Concrete(3, count=2), "s": Gaussian(2)}):
        with pytest.raises(HatchelError, match=r"reads_class: needs one discrete variable .*leave reads_class out"):
            Mixed(groups, reads_class=True)
    layout = by_class()[0].layout
    assert "add the class to `sites` (0)" in MutualInformation(sites=(1,)).accepts(layout)
    assert not MutualInformation(sites=(0, 1)).accepts(layout)
    plain = Mixed(by_class()[0].groups, discrete="pmf")
    assert plain.digest() == Mixed(plain.groups, discrete="pmf", reads_class=False).digest()
