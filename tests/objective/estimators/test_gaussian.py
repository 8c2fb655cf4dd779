from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.objective.estimators.gaussian import Gaussian
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.decomposition import TotalCorrelation
from tests.conftest import gaussian_trace


def test_mean_ratio_is_the_log_determinant_formula() -> None:
    """TC = 1/2 (log |diag S| - log |S|) with numpy-style covariance of the batch (Cheng et al. 2020, Eq. 5)."""
    t = gaussian_trace(batch=200, dim=5)
    found = TotalCorrelation(Gaussian()).value(t, Evaluator(t, {}, {})).mean()
    s = torch.cov(t.z.T, correction=0)
    expected = 0.5 * (s.diagonal().log().sum() - torch.linalg.slogdet(s)[1])
    torch.testing.assert_close(found, expected)


def test_agrees_with_torch_distributions() -> None:
    t = gaussian_trace(batch=50, dim=3)
    z = t.z.detach()
    normal = torch.distributions.MultivariateNormal(z.mean(0), torch.cov(z.T, correction=0))
    torch.testing.assert_close(Gaussian().log_q(t, ((0, 1, 2),))[0], normal.log_prob(z))


def test_too_small_a_batch_says_so() -> None:
    """The covariance of n points has rank n - 1."""
    Gaussian().log_q(gaussian_trace(batch=4, dim=3), ((0, 1, 2),))
    with pytest.raises(
        HatchelError, match="3 items a batch are too few for the covariance of 3 coordinates; set batch"
    ):
        Gaussian().log_q(gaussian_trace(batch=3, dim=3), ((0, 1), (0, 1, 2)))
