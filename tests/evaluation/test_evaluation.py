"""What the evaluation of a run hands to the metrics, latent by latent."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import Encodings, _codes, encodings, probes
from hatchel.latents.correlated import Correlated, CorrelatedGaussian
from hatchel.methods.method import preset
from hatchel.metrics._information_isolation import InformationIsolation
from hatchel.metrics.suite import measure
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.run import TrainedRun, train


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    spec = preset("beta_svae", data="xy_squares", style=3, classes=4).with_fields(steps=3, batch_size=16)
    return train(spec, out=tmp_path_factory.mktemp("run"), progress=False)


def test_a_mixed_latent_has_clusters_and_its_coordinates_apart(mixed: TrainedRun) -> None:
    found = encodings(mixed)
    (codes,) = found.levels
    assert codes.std is None
    assert codes.real is not None
    assert codes.clusters is not None
    images = mixed.data.images(found.items)
    mean, std = mixed.posterior(images)
    np.testing.assert_allclose(codes.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(codes.clusters[:, 0], mean[:, :4].argmax(1))
    np.testing.assert_allclose(codes.real.mean, mean[:, 4:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(codes.real.std, std[:, 4:], rtol=1e-5)
    np.testing.assert_allclose(codes.sample[:, :4].sum(1), 1, rtol=1e-5)
    made = probes(mixed, found)
    assert list(made) == ["mean", "sample", "coordinates"]
    assert made["coordinates"].dims == 3
    assert made["mean"].clusters is not None


def test_clustering_and_information_are_reported_where_they_can_be(mixed: TrainedRun, tmp_path: Path) -> None:
    result = mixed.evaluate(["clustering", "elbo_terms", "mig"], store=False)
    score = result["mean"]["clustering"]
    assert set(score.parts) == {"accuracy", "nmi"}
    assert "elbo_terms" not in result["mean"]
    assert len(result["coordinates"]["elbo_terms"].parts["mutual_information_per_dimension"]) == 3
    assert "standard deviations" in result.table()


def test_the_same_seed_gives_the_same_samples(mixed: TrainedRun) -> None:
    a, b, c = (encodings(mixed, seed=s).sample for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_correlated_noise_reaches_the_metric(tmp_path: Path) -> None:
    correlation, std, n, dim = 0.6, 0.5, 3000, 3
    spec = preset("vae", data=XYSquares(size=16)).with_fields(
        steps=1, batch_size=8, latent=Correlated(dim, correlation), encoder=Mlp((4,)), decoder=MlpDecoder((4,))
    )
    run = train(spec, out=tmp_path / "run", progress=False)
    assert encodings(run).levels[0].noise is not None
    # Means drawn from N(0, I) make q(z) = N(0, I + s^2 C) as n grows, whose informations are log-determinants.
    mean = torch.randn(n, dim, generator=torch.Generator().manual_seed(0))
    q = CorrelatedGaussian(mean, torch.full((n, dim), 2 * math.log(std)), correlation)
    found = Encodings(np.arange(n) % 64, (_codes([q], 0, 0),), {})
    score = measure(probes(run, found)["mean"], [InformationIsolation(draws=3000)])["information_isolation(draws=3000)"]
    c = np.full((dim, dim), correlation) + (1 - correlation) * np.eye(dim)
    conditional = -0.5 * np.log(np.linalg.det(c))
    marginal = 0.5 * (dim * np.log(1 + std**2) - np.log(np.linalg.det(np.eye(dim) + std**2 * c)))
    assert score.parts["conditional"] == pytest.approx(conditional, rel=1e-5)
    assert score.value == pytest.approx(conditional - marginal, abs=0.05)
