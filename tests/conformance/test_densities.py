"""Every density estimator, whoever wrote it: the terms it gives must telescope."""

from __future__ import annotations

import pytest
import torch

from hatchel.latents.layout import Layout
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.trace import Trace
from tests.conftest import BY_CLASS, MIXED, gaussian_trace, mixed_trace

DENSITIES = list(Density.members().values())


def with_groups(t: Trace) -> Trace:
    t.q.layout = Layout.of({"a": (1, 1, 1), "b": (1,)})
    return t


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.kind)
def test_terms_telescope_row_by_row(density: type[Density]) -> None:
    t = with_groups(gaussian_trace())
    by = density()
    evaluator = Evaluator(t, {}, {})
    parts = [
        MutualInformation(by).value(t, evaluator),
        TotalCorrelation(by, over="groups").value(t, evaluator),
        TotalCorrelation(by, over="within").value(t, evaluator),
        DimensionKL(by).value(t, evaluator),
    ]
    whole = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    torch.testing.assert_close(sum(parts), whole, atol=1e-9, rtol=0)
    over_sites = parts[0] + TotalCorrelation(by).value(t, evaluator) + parts[3]
    torch.testing.assert_close(over_sites, whole, atol=1e-9, rtol=0)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.kind)
def test_telescoping_survives_single_precision(density: type[Density]) -> None:
    t = gaussian_trace(dtype=torch.float32)
    evaluator = Evaluator(t, {}, {})
    by = density()
    total = sum(term.value(t, evaluator) for term in (MutualInformation(by), TotalCorrelation(by), DimensionKL(by)))
    whole = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    torch.testing.assert_close(total, whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.kind)
def test_gradient_reaches_every_posterior(density: type[Density]) -> None:
    t = gaussian_trace()
    density().log_q(t, (t.q.layout.whole,)).sum().backward()
    for parameter in (t.q.mean, t.q.log_variance):
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
        assert (parameter.grad.abs().sum(1) > 0).all()


@pytest.mark.parametrize("kind", MIXED | BY_CLASS)
@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.kind)
def test_terms_telescope_on_groups_classes_and_learned_priors(density: type[Density], kind: str) -> None:
    """I + TC(groups) + TC(parts of groups) + ... + TC(within) + sum_d KL_d = log q(z|x) - log p(z), row by row."""
    t = mixed_trace((MIXED | BY_CLASS)[kind])
    by = density()
    if not t.q.layout.continuous and by.kind == "gaussian":
        assert "discrete sites" in by.accepts(t.q.layout)
        return
    assert not by.accepts(t.q.layout)
    evaluator = Evaluator(t, {}, {})
    information, dimensions = MutualInformation(by).value(t, evaluator), DimensionKL(by).value(t, evaluator)
    depths = range(1, len(t.q.layout.nesting) + 1)
    nested = [TotalCorrelation(by, over="nested", depth=d) for d in depths]
    assert nested[0].partitions(t.q.layout) == TotalCorrelation(by, over="groups").partitions(t.q.layout)
    parts = [term.value(t, evaluator) for term in (*nested, TotalCorrelation(by, over="within"))]
    whole = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    torch.testing.assert_close(information + sum(parts) + dimensions, whole, atol=1e-9, rtol=0)
    over_sites = information + TotalCorrelation(by).value(t, evaluator) + dimensions
    torch.testing.assert_close(over_sites, whole, atol=1e-9, rtol=0)


@pytest.mark.parametrize("kind", MIXED | BY_CLASS)
def test_telescoping_on_mixed_latents_survives_single_precision(kind: str) -> None:
    t = mixed_trace((MIXED | BY_CLASS)[kind], dtype=torch.float32)
    evaluator = Evaluator(t, {}, {})
    by = Stratified()
    total = sum(term.value(t, evaluator) for term in (MutualInformation(by), TotalCorrelation(by), DimensionKL(by)))
    whole = t.q.log_prob(t.z, t.q.layout.whole) - t.p.log_prob(t.z, t.q.layout.whole)
    torch.testing.assert_close(total, whole, atol=2e-4, rtol=1e-4)
