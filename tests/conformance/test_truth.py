"""Every density estimator on Gaussians whose information, total correlation and KL are known; its bias stated.

mu ~ N(0, S), z = mu + sigma eps, so that q(z) = N(0, S + sigma^2 I) with
I(x;z) = 1/2 log |S + sigma^2 I| / sigma^(2D),  TC = 1/2 (log |diag| - log | |),  KL_d = 1/2 (v_d - 1 - log v_d).
"""

from __future__ import annotations

import math

import pytest
import torch

from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.trace import Trace
from tests.conftest import trace_of

D, B, N, SIGMA, RHO, BATCHES = 3, 512, 100_000, 0.5, 0.6, 20
S = (1 - RHO) * torch.eye(D, dtype=torch.float64) + RHO
Z = S + SIGMA**2 * torch.eye(D, dtype=torch.float64)
TRUTH = (
    float(0.5 * (torch.logdet(Z) - D * math.log(SIGMA**2))),
    float(0.5 * (Z.diagonal().log().sum() - torch.logdet(Z))),
    float(0.5 * (Z.diagonal() - 1 - Z.diagonal().log()).sum()),
)
# What an estimator adds to (I, TC, sum_d KL_d) by its definition. MWS: each log q(z_block) is low by log N.
BIAS = {"mws": (math.log(N), (D - 1) * math.log(N), -D * math.log(N))}
TOLERANCE = 0.06
"""Nats: four standard errors over the 20 batches, and the bias of order S/B of a sum over B = 512 posteriors."""


def batch(seed: int) -> Trace:
    g = torch.Generator().manual_seed(seed)
    mean = torch.randn(B, D, generator=g, dtype=torch.float64) @ torch.linalg.cholesky(S).T
    q = DiagonalGaussian(mean, torch.full_like(mean, 2 * math.log(SIGMA)))
    z = mean + SIGMA * torch.randn(B, D, generator=g, dtype=torch.float64)
    return trace_of(q, z, n_data=N)


@pytest.mark.parametrize("kind", Density.members())
def test_known_information_and_correlation(kind: str) -> None:
    by = Density.members()[kind]()
    terms = (MutualInformation(by), TotalCorrelation(by), DimensionKL(by))
    rows = []
    for seed in range(BATCHES):
        t = batch(seed)
        evaluator = Evaluator(t, {}, {})
        rows.append([float(term.value(t, evaluator).mean()) for term in terms])
    found = torch.tensor(rows, dtype=torch.float64).mean(0)
    expected = torch.tensor(TRUTH) + torch.tensor(BIAS.get(kind, (0.0, 0.0, 0.0)))
    torch.testing.assert_close(found, expected.double(), atol=TOLERANCE, rtol=0)


def test_minibatch_sums_drown_when_posteriors_do_not_overlap() -> None:
    """Cheng et al. 2020, App. 1.3: with tight posteriors a sum over B sees log B nats in every live dimension."""
    g = torch.Generator().manual_seed(0)
    mean = torch.randn(64, 10, generator=g, dtype=torch.float64)
    q = DiagonalGaussian(mean, torch.full_like(mean, -20.0))
    t = trace_of(q, q.rsample(g).double(), n_data=64)
    by = Density.members()["exact"]()
    found = TotalCorrelation(by).value(t, Evaluator(t, {}, {})).mean()
    assert float(found) == pytest.approx(9 * math.log(64), rel=0.01)
