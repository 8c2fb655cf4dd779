"""RTC-VAE: its Theorem 1 in numbers, its penalties, its semi-supervised term."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.data.array import from_array
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.methods.resolve import resolve
from hatchel.metrics import gaussian_tc
from hatchel.objective.estimators.mixture import exact_log_q
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.moments import Disintegration, PosteriorVariance
from hatchel.objective.weights import Constant
from hatchel.training.run import train
from tests.conftest import gaussian_trace


@pytest.mark.parametrize("rho", [0.9, 0.99, 0.9999, 1 - 1e-8])
def test_theorem_1_with_constant_deviations(rho: float) -> None:
    """mu ~ N(0, [[1, rho], [rho, 1]]), sigma' = 1: TC(mu) = -1/2 log(1 - rho^2) grows without bound while
    TC(z) = -1/2 log(1 - rho^2 / 4) < 0.144.
    """
    rng = np.random.default_rng(0)
    mu = rng.standard_normal((50_000, 2))
    mu[:, 1] = rho * mu[:, 0] + math.sqrt(1 - rho**2) * mu[:, 1]
    found = gaussian_tc(mu, std=np.ones(2)).parts
    assert found["mean"] == pytest.approx(-0.5 * math.log(1 - rho**2), rel=0.02)
    assert found["sample"] == pytest.approx(-0.5 * math.log(1 - rho**2 / 4), abs=0.005)
    assert found["sample"] < 0.15


def test_theorem_1_where_deviations_fall_off_with_mu() -> None:
    """The theorem's own condition, sigma'_j(mu) > c_4 / |mu|^l beyond R: z is not Gaussian, its TC by the exact sum."""
    g = torch.Generator().manual_seed(0)
    bound, found = 0.6, {}
    for rho in (0.9, 0.999, 1 - 1e-7):
        mu = torch.randn(1500, 2, generator=g, dtype=torch.float64)
        mu[:, 1] = rho * mu[:, 0] + math.sqrt(1 - rho**2) * mu[:, 1]
        length = mu.norm(dim=1, keepdim=True).clamp_min(1.0)
        q = DiagonalGaussian(mu, (1 / length).square().log().expand_as(mu))  # 1 up to R = 1, then 1 / |mu|
        z = q.rsample(g)
        joint, first, second = exact_log_q(q, z, ((0, 1), (0,), (1,)))
        found[rho] = float((joint - first - second).mean())
        assert found[rho] < bound
        assert float(gaussian_tc(mu.numpy())) == pytest.approx(-0.5 * math.log(1 - rho**2), rel=0.1)
    low, high = found[0.9], found[1 - 1e-7]
    assert high - low < 0.3  # while TC(mu) went from 0.8 to 7.7


def test_weights_and_parts_are_the_papers() -> None:
    assert [resolve("rtc_vae", changes={"beta": b}).objective["var"].weight for b in (2, 10, 50)] == [
        Constant(w) for w in (10, 10, 50)
    ]
    assert resolve("rtc_vae", changes={"beta": 6, "eta": 3}).objective["var"].weight == Constant(3)
    spec = resolve("rtc_vae")
    assert spec.encoder is not None
    assert spec.decoder is not None
    assert (spec.encoder.kind, spec.decoder.kind, spec.batch_size) == ("rtc", "rtc_decoder", 500)
    assert set(spec.objective) == {"rec", "kl", "tc", "var"}
    plain = resolve("factor_vae", changes={"gamma": 10}).objective
    assert {k: v for k, v in spec.objective.items() if k != "var"} == plain


def test_the_penalty_and_its_gradient() -> None:
    t = gaussian_trace()
    value = PosteriorVariance().value(t, Evaluator(t, {}, {}))
    assert float(value.detach()) == pytest.approx(float(t.q.variance.detach().sum(1).mean()))
    value.backward()
    torch.testing.assert_close(t.q.log_variance.grad, t.q.variance.detach() / len(t.z))


def labelled(mean: torch.Tensor, factors: torch.Tensor):
    t = gaussian_trace()
    batch = dataclasses.replace(t.batch, labelled=(mean, factors))
    t = dataclasses.replace(t, batch=batch, encode=lambda x: DiagonalGaussian(x, torch.zeros_like(x)))
    return Disintegration().value(t, Evaluator(t, {}, {}))


def test_disintegration_counts_what_the_best_coordinate_leaves() -> None:
    factors = torch.cartesian_prod(torch.arange(5), torch.arange(4)).double()
    one_each = torch.cat([3 * factors, torch.zeros(20, 2).double()], 1)
    assert float(labelled(one_each, factors)) == pytest.approx(0, abs=1e-12)
    twice = torch.cat([factors, -factors[:, :1]], 1)
    assert float(labelled(twice, factors)) == pytest.approx(1)
    # Two factors in one coordinate is another matter: the term does not see it.
    assert float(labelled(factors.sum(1, keepdim=True), factors)) == pytest.approx(0, abs=1e-12)
    noise = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = np.corrcoef(noise.numpy().T, factors.numpy().T)[:3, 3:] ** 2
    assert float(labelled(noise, factors)) == pytest.approx((expected.sum(0) - expected.max(0)).sum())
    assert torch.autograd.gradcheck(lambda m: labelled(m, factors), (noise.requires_grad_(),))


def small(**fields: object):
    spec = resolve("rtc_vae", "xy_squares", {"disintegration": 50, "beta": 0, "eta": 0})
    return updated(spec, {"batch_size": 16, "steps": 6, "objective.tc.term.by.hidden": 16, **fields})


def test_semi_supervised_training_resumes_bit_for_bit(tmp_path: Path) -> None:
    whole = train(small(labels=12), out=tmp_path / "whole", progress=False)
    train(small(labels=12, steps=3), out=tmp_path / "parts", progress=False)
    parts = train(small(labels=12), out=tmp_path / "parts", resume=True, progress=False)
    for a, b in zip(whole.model.state_dict().values(), parts.model.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    other = train(small(labels=20), out=tmp_path / "other", progress=False)
    assert not all(map(torch.equal, whole.model.state_dict().values(), other.model.state_dict().values()))


def test_labels_that_are_missing_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="labels: a term wants labelled items; set labels from 2 to 64, got 0"):
        train(small(), out=tmp_path / "none", progress=False)
    images = np.zeros((32, 16, 16, 1), dtype=np.uint8)
    with pytest.raises(HatchelError, match=r"a term wants labels, and .* has no factors"):
        train(small(labels=8), data=from_array(images), out=tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()
