import numpy as np
import pytest
import torch

from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.metrics import ELBOTerms, InformationIsolation, Probe
from hatchel.metrics.aggregate import Aggregate, log_given, log_joint, log_marginals
from hatchel.objective.estimators.mixture import exact_log_q

rng = np.random.default_rng(0)
mean, std = rng.normal(size=(700, 3)), rng.uniform(0.1, 1.5, size=(700, 3))


def test_densities_are_those_of_the_exact_estimator():
    z = mean[:90] + std[:90] * rng.normal(size=(90, 3))
    q = DiagonalGaussian(torch.from_numpy(mean), 2 * torch.from_numpy(std).log())
    expected = exact_log_q(q, torch.from_numpy(z), ((0,), (1,), (2,), (0, 1, 2))).numpy()
    assert np.abs(log_marginals(mean, std, z) - expected[:3]).max() < 1e-5
    assert np.abs(log_joint(mean, std, z) - expected[3]).max() < 1e-5


def test_tiny_deviations_are_taken_in_double_precision():
    """Two codes 1e-7 apart and 3 from 0: single precision cannot tell them apart, the posteriors can."""
    pair = np.array([[3.0], [3.0 + 1e-7]])
    density = log_marginals(pair, np.full((2, 1), 1e-8), pair)[0]
    assert density == pytest.approx(np.full(2, -np.log(2) - np.log(1e-8) - 0.5 * np.log(2 * np.pi)), abs=1e-6)
    assert log_joint(pair, np.full((2, 1), 1e-8), pair) == pytest.approx(density)


def test_tiles_do_not_change_the_sum(monkeypatch):
    z = mean[:50]
    whole = log_joint(mean, std, z), log_marginals(mean, std, z)
    monkeypatch.setattr("hatchel.metrics.aggregate.TILE", 2000)
    assert np.allclose(log_joint(mean, std, z), whole[0], atol=1e-6)
    assert np.allclose(log_marginals(mean, std, z), whole[1], atol=1e-6)


def test_metrics_of_one_seed_share_one_computation(monkeypatch):
    calls = []
    monkeypatch.setattr("hatchel.metrics.aggregate.log_joint", lambda *a: calls.append(1) or log_joint(*a))
    probe = Probe(mean, std=std)
    ELBOTerms().score(probe, 3)
    InformationIsolation().score(probe, 3)
    assert len(calls) == 1
    ELBOTerms().score(probe, 4)
    assert len(calls) == 2


def test_draws_come_from_their_own_posterior():
    q = Aggregate.of(Probe(mean, std=std), np.random.default_rng(1), 400)
    noise = (q.draws - mean[q.rows][q.own]) / std[q.rows][q.own]
    expected = -0.5 * noise**2 - np.log(std[q.rows][q.own]) - 0.5 * np.log(2 * np.pi)
    assert q.given_x == pytest.approx(expected.T)
    assert noise.std() == pytest.approx(1, abs=0.06)


def test_correlated_noise_against_scipys_density():
    from scipy.stats import multivariate_normal

    noise = np.array([[1, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 1]])
    z = mean[:6] + 0.1
    densities = [
        [multivariate_normal(m, np.outer(s, s) * noise).pdf(row) for m, s in zip(mean, std, strict=True)] for row in z
    ]
    assert log_joint(mean, std, z, noise) == pytest.approx(np.log(np.mean(densities, axis=1)), abs=1e-5)
    own = [np.log(densities[i][i]) for i in range(6)]
    assert log_given(mean[:6], std[:6], z, noise) == pytest.approx(own)
