"""Minibatch weights against their layouts, brute force, and what reference implementations gave."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.objective.estimators.minibatch import MSS, MSS0, MWS, Minibatch, Stratified
from hatchel.objective.estimators.mixture import Exact, log_mixture
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.trace import Trace
from tests.conftest import gaussian_trace, trace_of

B, N = 5, 100
M = B - 1


def weights(by: Minibatch) -> torch.Tensor:
    i = torch.arange(B)
    return by.weights(i[:, None], i[None, :], B, N).expand(B, B)


def test_mws_weights() -> None:
    assert torch.allclose(weights(MWS()), torch.full((B, B), 1 / (N * B), dtype=torch.float64))


def test_what_mws_adds_to_the_total_correlation_and_without_constants_does_not() -> None:
    """Over the batch's own mixture (D - 1) log N with them, -(D - 1) log B without, and the same gradient."""
    t = gaussian_trace()
    batch, dims = t.z.shape

    def tc(by: MWS | Exact) -> tuple[float, torch.Tensor]:
        value = TotalCorrelation(by).value(t, Evaluator(t, {}, {})).mean()
        return value.item(), torch.autograd.grad(value, t.q.mean)[0]

    (exact, slope), (high, high_slope), (low, low_slope) = (tc(by) for by in (Exact(), MWS(), MWS(constants=False)))
    assert high - exact == pytest.approx((dims - 1) * math.log(t.batch.n_data))
    assert low - exact == pytest.approx(-(dims - 1) * math.log(batch))
    assert high - low == pytest.approx((dims - 1) * math.log(t.batch.n_data * batch))
    torch.testing.assert_close(high_slope, slope)
    torch.testing.assert_close(low_slope, slope)
    assert MWS().digest() != MWS(constants=False).digest()


def test_mss_weights_lie_on_the_diagonal_and_next_to_it() -> None:
    w = weights(MSS())
    expected = torch.full((B, B), 1 / M, dtype=torch.float64)
    for i in range(B):
        expected[i, i] = 1 / N
        expected[i, (i + 1) % B] = (N - M) / (N * M)
    assert torch.allclose(w, expected)
    assert torch.allclose(w.sum(1), torch.ones(B, dtype=torch.float64))


def test_mss0_reproduces_the_column_layout() -> None:
    # The original writes a flat view with stride B: W[::B] = 1/N, W[1::B] = the stratum, W[M - 1, 0] = the stratum.
    flat = torch.full((B * B,), 1 / M, dtype=torch.float64)
    flat[::B] = 1 / N
    flat[1::B] = (N - M) / (N * M)
    expected = flat.view(B, B)
    expected[M - 1, 0] = (N - M) / (N * M)
    assert torch.allclose(weights(MSS0()), expected)


def test_stratified_weights() -> None:
    w = weights(Stratified())
    assert torch.allclose(w.diagonal(), torch.full((B,), 1 / N, dtype=torch.float64))
    assert w[0, 3] == pytest.approx((N - 1) / (N * (B - 1)))
    assert torch.allclose(w.sum(1), torch.ones(B, dtype=torch.float64))


def test_stratified_is_exact_when_the_batch_is_the_data() -> None:
    t = gaussian_trace(batch=24, n_data=24)
    blocks = (t.q.layout.whole, *t.q.layout.singles)
    torch.testing.assert_close(Stratified().log_q(t, blocks), Exact().log_q(t, blocks))


def test_mws_is_low_by_log_n_when_the_batch_is_the_data() -> None:
    t = gaussian_trace(batch=24, n_data=24)
    difference = Exact().log_q(t, (t.q.layout.whole,)) - MWS().log_q(t, (t.q.layout.whole,))
    assert torch.allclose(difference, torch.tensor(math.log(24), dtype=torch.float64))


def test_exact_is_the_plain_double_sum() -> None:
    t = gaussian_trace(batch=6, dim=3)
    mean, std = t.q.mean.detach().numpy(), t.q.variance.detach().sqrt().numpy()
    z = t.z.detach().numpy()
    density = np.exp(-0.5 * ((z[:, None] - mean[None]) / std[None]) ** 2) / (std[None] * math.sqrt(2 * math.pi))
    expected = [np.log(density.prod(2).mean(1)), np.log(density[:, :, 1].mean(1))]
    found = Exact().log_q(t, (t.q.layout.whole, (1,))).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("budget", [1, 700, 10**9])
def test_tiles_change_neither_value_nor_gradient(budget: int) -> None:
    t = gaussian_trace(batch=37)
    blocks = (t.q.layout.whole, (0, 2), *t.q.layout.singles)
    w = torch.rand(37, 37, generator=torch.Generator().manual_seed(1), dtype=torch.float64).log()

    def run(size: int) -> tuple[torch.Tensor, ...]:
        value = log_mixture(t.q, t.z, blocks, lambda a, b, c, d: w[a:b, c:d], size)
        return (value, *torch.autograd.grad(value.square().sum(), (t.q.mean, t.q.log_variance), retain_graph=True))

    for found, expected in zip(run(budget), run(10**9), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_batch_of_one_is_refused() -> None:
    t = gaussian_trace(batch=1)
    with pytest.raises(HatchelError, match="batch of at least 2"):
        MSS().log_q(t, (t.q.layout.whole,))


def reference_trace() -> Trace:
    """The B = 64 posteriors that public implementations were run on."""
    data = np.load(Path(__file__).with_name("loss_inputs_B64.npz"))
    mean, log_variance, z = (torch.from_numpy(data[k]).double() for k in ("mu", "logvar", "z"))
    return trace_of(DiagonalGaussian(mean, log_variance), z, n_data=int(data["N"]))


# Closed forms in double precision, and (mss0) what the original beta-TCVAE code returned in single precision.
REFERENCE = {
    "mws": (MWS(), (17.6695878, 126.93463, -134.558094), 1e-5),
    "exact": (Exact(), (4.15886481, 5.33812299, 0.549136538), 1e-6),
    "mss": (MSS(), (13.4633876, -2.57113381, -0.846129424), 1e-6),
    "mss0": (MSS0(), (4.2894864, 5.2141275, 0.5425112), 1e-5),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_terms_agree_with_references(name: str) -> None:
    by, expected, tolerance = REFERENCE[name]
    t = reference_trace()
    evaluator = Evaluator(t, {}, {})
    found = [
        float(term.value(t, evaluator).mean())
        for term in (MutualInformation(by), TotalCorrelation(by), DimensionKL(by))
    ]
    np.testing.assert_allclose(found, expected, atol=tolerance)
