"""Each term against a closed form, numpy, or what a reference implementation gave."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.objective.estimators.minibatch import MSS
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.terms.decomposition import AggregateKL, DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.terms.moments import MMD, CovarianceDiagonal, CovarianceOffDiagonal, PosteriorVariance
from hatchel.objective.trace import Trace
from tests.conftest import gaussian_trace, trace_of
from tests.objective.estimators.test_minibatch import reference_trace


def value(term: Term, t: Trace) -> torch.Tensor:
    return term.value(t, Evaluator(t, {}, {}))


def test_reconstruction_is_minus_the_log_likelihood() -> None:
    t = gaussian_trace()
    assert torch.equal(value(Reconstruction(), t), -t.log_px)


def test_kl_agrees_with_torch_distributions_and_the_references() -> None:
    t = gaussian_trace()
    normal = torch.distributions.Normal(t.q.mean, t.q.variance.sqrt())
    expected = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0, 1)).sum(1)
    torch.testing.assert_close(value(KL(), t), expected)
    assert float(value(KL(), reference_trace()).mean()) == pytest.approx(10.131384, abs=1e-5)


def test_aggregate_kl_is_tc_plus_dimension_kl() -> None:
    t = gaussian_trace()
    parts = value(TotalCorrelation(MSS()), t) + value(DimensionKL(MSS()), t)
    torch.testing.assert_close(value(AggregateKL(MSS()), t), parts)


def test_mutual_information_of_some_sites() -> None:
    t = gaussian_trace()
    block = (1, 3)
    expected = t.q.log_prob(t.z, block) - MSS().log_q(t, (block,))[0]
    torch.testing.assert_close(value(MutualInformation(MSS(), block), t), expected)
    assert "sites 0 to 3, not 7" in MutualInformation(MSS(), (7,)).accepts(t.q.layout)


def test_information_of_independent_posteriors_is_known() -> None:
    """Posteriors that do not depend on x carry no information and are uncorrelated, whatever the batch."""
    z = torch.randn(64, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = DiagonalGaussian(torch.zeros_like(z), torch.zeros_like(z))
    t = trace_of(q, z)
    for term in (MutualInformation(MSS()), TotalCorrelation(MSS()), DimensionKL(MSS())):
        torch.testing.assert_close(value(term, t), torch.zeros(64, dtype=torch.float64), atol=1e-12, rtol=0)


# (off-diagonal, diagonal) weights -> penalty, from two independent code bases; type ii where they are right.
DIP = {
    "mean": {(5, 10): 55.7914429, (10, 10): 59.9788513, (10, 100): 524.415161},
    "sample": {(5, 10): 6.02488852, (10, 10): 10.2122965, (10, 100): 26.7496166},
}


@pytest.mark.parametrize("of", DIP)
def test_dip_penalties_agree_with_references(of) -> None:
    t = reference_trace()
    off, diagonal = float(value(CovarianceOffDiagonal(of), t)), float(value(CovarianceDiagonal(of), t))
    for (a, b), expected in DIP[of].items():
        assert a * off + b * diagonal == pytest.approx(expected, rel=1e-5)


def test_dip_vae_ii_is_four_times_the_kl_of_a_gaussian_code_near_its_prior() -> None:
    """Esmaeili et al. 2019, Table 1: 1/2 (tr C - log det C - D) is 1/4 |C - I|^2 up to third order."""
    g = torch.Generator().manual_seed(0)
    wanted = torch.eye(4) + 0.05 * torch.tensor([[1.0, 1, 0, -1], [1, -1, 2, 0], [0, 2, 1, 1], [-1, 0, 1, 0]])
    mean = torch.randn(400, 4, generator=g, dtype=torch.float64)
    mean = (mean - mean.mean(0)) @ torch.linalg.inv(torch.linalg.cholesky(torch.cov(mean.T, correction=0))).T
    root = torch.linalg.cholesky(wanted.double() - 0.2 * torch.eye(4))
    q = DiagonalGaussian(mean @ root.T, torch.full((400, 4), 0.2, dtype=torch.float64).log())
    t = trace_of(q, q.mean)
    penalty = float(value(CovarianceOffDiagonal("sample"), t) + value(CovarianceDiagonal("sample"), t))
    kl = 0.5 * float(wanted.diagonal().sum() - torch.logdet(wanted) - 4)
    assert penalty == pytest.approx(4 * kl, rel=0.1)
    assert kl > 0.01


def test_covariance_of_samples_equals_numpys_of_many_draws() -> None:
    """C = E[diag sigma^2] + Cov[mu] is the covariance of z: 400,000 draws agree within 1 %."""
    t = gaussian_trace(batch=40)
    rng = np.random.default_rng(0)
    mean, std = t.q.mean.detach().numpy(), t.q.variance.detach().sqrt().numpy()
    draws = mean[None] + std[None] * rng.standard_normal((10_000, *mean.shape))
    expected = np.cov(draws.reshape(-1, mean.shape[1]).T, bias=True)
    found = CovarianceDiagonal("sample").matrix(t).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=0.01 * np.abs(expected).max())
    np.testing.assert_allclose(CovarianceDiagonal("mean").matrix(t).detach().numpy(), np.cov(mean.T, bias=True))


def test_posterior_variance() -> None:
    t = gaussian_trace()
    torch.testing.assert_close(value(PosteriorVariance(), t), t.q.variance.sum(1).mean())


def shifted(shift: float, seed: int, batch: int = 256, dim: int = 2) -> Trace:
    z = shift + torch.randn(batch, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return trace_of(DiagonalGaussian(z, z * 0), z, step=seed)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
def test_mmd_is_unbiased(kernel) -> None:
    draws = torch.stack([value(MMD(kernel), shifted(0, s)) for s in range(60)])
    assert abs(float(draws.mean())) < 4 * float(draws.std()) / 60**0.5
    assert (draws < 0).any()  # an unbiased estimate of zero takes both signs


def test_mmd_of_shifted_gaussians_has_its_closed_form() -> None:
    """E exp(-|a-b|^2/C) for a-b ~ N(m, 2I): (C/(C+4))^(D/2) exp(-|m|^2/(C+4))."""
    c, dim, shift = 4.0, 2, 0.7
    same = (c / (c + 4)) ** (dim / 2)
    expected = 2 * same * (1 - np.exp(-dim * shift**2 / (c + 4)))
    draws = torch.stack([value(MMD("rbf", scale=2.0), shifted(shift, s)) for s in range(60)])
    assert float(draws.mean()) == pytest.approx(expected, abs=4 * float(draws.std()) / 60**0.5)
