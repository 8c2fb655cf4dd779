"""What the evaluation of a run hands to the metrics, latent by latent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.evaluation import encodings, probes
from hatchel.presets.preset import preset
from hatchel.run import Run, train


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    spec = preset("beta_svae", data="xy_squares", style=3, classes=4).with_fields(steps=3, batch_size=16)
    return train(spec, out=tmp_path_factory.mktemp("run"), progress=False)


def test_a_mixed_latent_has_clusters_and_its_coordinates_apart(mixed: Run) -> None:
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


def test_clustering_and_information_are_reported_where_they_can_be(mixed: Run, tmp_path: Path) -> None:
    result = mixed.evaluate(["clustering", "elbo_terms", "mig"], store=False)
    score = result["mean"]["clustering"]
    assert set(score.parts) == {"accuracy", "nmi"}
    assert "elbo_terms" not in result["mean"]
    assert len(result["coordinates"]["elbo_terms"].parts["mutual_information_per_dimension"]) == 3
    assert "standard deviations" in result.table()


def test_the_same_seed_gives_the_same_samples(mixed: Run) -> None:
    a, b, c = (encodings(mixed, seed=s).sample for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
