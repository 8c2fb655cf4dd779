"""Every term in the registry, plug-ins included, on the latents that accept it."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.objective import Objective, Weighted
from hatchel.objective.term import Term
from tests.conftest import MIXED, gaussian_trace, mixed_trace

TERMS = Term.members()


@pytest.mark.parametrize("kind", TERMS)
def test_value_and_gradient_are_finite(kind: str) -> None:
    t = gaussian_trace(dtype=torch.float32)
    t.log_px.requires_grad_()
    loss = Objective({"it": Weighted(TERMS[kind]())}, t.q.layout)(t)
    loss.total.backward()
    assert loss.objective.isfinite()
    gradients = [p.grad for p in (t.q.mean, t.q.log_variance, t.log_px) if p.grad is not None]
    assert gradients
    assert all(g.isfinite().all() for g in gradients)
    assert any((g != 0).any() for g in gradients)


@pytest.mark.parametrize("kind", TERMS)
def test_the_order_of_the_batch_does_not_matter(kind: str) -> None:
    """Up to the estimator's own choice of neighbours (mss) and of permutations (critics): those vary by design."""
    term = TERMS[kind]()
    if "by" in {f.name for f in dataclasses.fields(term)}:
        term = dataclasses.replace(term, by=Stratified())
    t = gaussian_trace()
    order = torch.randperm(len(t.z), generator=torch.Generator().manual_seed(3))
    q = type(t.q)(t.q.mean[order], t.q.log_variance[order])
    batch = dataclasses.replace(t.batch, x=t.batch.x[order])
    shuffled = dataclasses.replace(t, batch=batch, log_px=t.log_px[order], q=q, z=t.z[order])
    objective = Objective({"it": Weighted(term)}, t.q.layout).to(t.z.dtype)
    torch.testing.assert_close(objective(t).objective, objective(shuffled).objective)


@pytest.mark.parametrize("kind", TERMS)
def test_codec_symbol_and_help(kind: str) -> None:
    term = TERMS[kind]()
    assert from_dict(Term, to_dict(term)) == term
    assert term.symbol()
    assert set(term.help()) == {f.name for f in dataclasses.fields(term)}


@pytest.mark.parametrize("latent", MIXED)
@pytest.mark.parametrize("kind", TERMS)
def test_mixed_latents_are_carried_or_refused_with_the_reason(kind: str, latent: str) -> None:
    t = mixed_trace(MIXED[latent], dtype=torch.float32)
    t.log_px.requires_grad_()
    term = TERMS[kind]()
    if term.accepts(t.q.layout):
        with pytest.raises(HatchelError, match=f"objective.it: {kind} does not fit this latent: .*(discrete|prior)"):
            Objective({"it": Weighted(term)}, t.q.layout)
        return
    loss = Objective({"it": Weighted(term)}, t.q.layout)(t)
    loss.total.backward()
    assert loss.objective.isfinite()
    gradients = [p.grad for p in (t.q.parameters, t.log_px, *t.p.parameters.parameters()) if p.grad is not None]
    assert gradients
    assert all(g.isfinite().all() for g in gradients)
    assert any((g != 0).any() for g in gradients)
