import math

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from hatchel.core.errors import HatchelError
from hatchel.latents.correlated import Correlated, CorrelatedGaussian
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.elbo import KL
from hatchel.objective.terms.moments import CovarianceOffDiagonal
from tests.conftest import trace_of

BATCH, DIM, R = 6, 4, 0.9


def posterior(r: float = R) -> CorrelatedGaussian:
    g = torch.Generator().manual_seed(0)
    mean, log_variance = torch.randn(2, BATCH, DIM, generator=g, dtype=torch.float64).unbind(0)
    return CorrelatedGaussian(mean, log_variance, r)


def independently(q: CorrelatedGaussian, block: tuple[int, ...]) -> MultivariateNormal:
    """The block's distribution by torch, from the covariance matrix written out."""
    index = list(block)
    noise = (1 - q.correlation) * torch.eye(DIM).double() + q.correlation
    sigma = q.variance.sqrt()
    covariance = sigma[:, :, None] * noise * sigma[:, None, :]
    return MultivariateNormal(q.mean[:, index], covariance[:, index][:, :, index])


BLOCKS = ((0, 1, 2, 3), (2,), (0, 3), (3, 1, 2))


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("block", BLOCKS)
def test_log_densities_of_blocks(block: tuple[int, ...], r: float) -> None:
    q = posterior(r)
    z = q.rsample(torch.Generator().manual_seed(1))
    torch.testing.assert_close(q.log_prob(z, block), independently(q, block).log_prob(z[:, list(block)]))
    cross = independently(q, block).log_prob(z[:, None, list(block)])
    torch.testing.assert_close(q.cross_log_prob(z, (block,))[0], cross)


def test_kl() -> None:
    q = posterior()
    prior = MultivariateNormal(torch.zeros(DIM).double(), torch.eye(DIM).double())
    trace = trace_of(q, q.mean, Correlated(DIM, q.correlation).build().prior_at())
    torch.testing.assert_close(trace.p.kl(q, q.mean).sum(1), kl_divergence(independently(q, (0, 1, 2, 3)), prior))
    torch.testing.assert_close(KL().value(trace, Evaluator(trace, {}, {})), trace.p.kl(q, q.mean).sum(1))
    # The first site has none before it; the chain's first two are the KL of those two.
    pair = MultivariateNormal(torch.zeros(2).double(), torch.eye(2).double())
    torch.testing.assert_close(trace.p.kl(q, q.mean)[:, :2].sum(1), kl_divergence(independently(q, (0, 1)), pair))


@pytest.mark.parametrize("block", BLOCKS)
def test_conditional_total_correlation(block: tuple[int, ...]) -> None:
    """The mean of log q(z_S|x) - sum log q(z_s|x) over many draws is -1/2 log|C| (Split Encoder, Eq. 6)."""
    q = posterior()
    noise = (1 - R) * torch.eye(len(block)).double() + R
    closed = -0.5 * float(torch.logdet(noise))
    many = CorrelatedGaussian(q.mean[:1].expand(40_000, -1), q.log_variance[:1].expand(40_000, -1), R)
    z = many.rsample(torch.Generator().manual_seed(2))
    ratio = many.log_prob(z, block) - sum(many.log_prob(z, (s,)) for s in block)
    assert float(ratio.mean()) == pytest.approx(closed, abs=5 * float(ratio.std()) / 200 + 1e-9)


def test_noise_has_the_covariance_it_says() -> None:
    q = posterior().map_tensors(lambda t: t[:1].expand(60_000, -1))
    z = q.rsample(torch.Generator().manual_seed(3))
    torch.testing.assert_close(torch.cov(z.T), q.mean_covariance(), rtol=0.03, atol=0)
    correlation = torch.corrcoef(z.T)
    torch.testing.assert_close(correlation, (1 - R) * torch.eye(DIM).double() + R, rtol=0.01, atol=0)


def test_the_law_of_total_covariance_keeps_the_noise() -> None:
    """DIP-VAE-II's matrix is Cov[mu] + E Cov[z|x], off the diagonal too."""
    q = posterior()
    trace = trace_of(q, q.mean, Correlated(DIM, q.correlation).build().prior_at())
    centred = q.mean - q.mean.mean(0)
    expected = centred.T @ centred / BATCH + independently(q, (0, 1, 2, 3)).covariance_matrix.mean(0)
    torch.testing.assert_close(CovarianceOffDiagonal("sample").matrix(trace), expected)


def test_without_correlation_it_is_the_diagonal_latent() -> None:
    q = posterior(0.0)
    diagonal = DiagonalGaussian(q.mean, q.log_variance)
    p = Correlated(DIM, 0.0).build().prior_at()
    torch.testing.assert_close(p.kl(q, q.mean), StandardNormal(q.layout).kl(diagonal, q.mean))
    z = torch.zeros(BATCH, DIM).double()
    torch.testing.assert_close(q.cross_log_prob(z, BLOCKS), diagonal.cross_log_prob(z, BLOCKS))


def test_perfect_correlation_has_no_density() -> None:
    with pytest.raises(HatchelError, match="correlation: input should be less than 1"):
        Correlated(correlation=1.0)
    assert math.isclose(Correlated().correlation, 0.9)
