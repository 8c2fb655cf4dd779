"""What the evaluation of a run hands to the metrics, latent by latent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_json
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation import codes as codes_module
from hatchel.evaluation.codes import Encodings, encodings, has_own_code, level_arrays, level_codes
from hatchel.evaluation.evaluation import (
    FILE,
    Evaluation,
    StoredScores,
    evaluate,
    information_metric,
    representation,
)
from hatchel.latents.correlated import Correlated, CorrelatedGaussian
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.likelihoods import Bernoulli, Gaussian, Likelihood
from hatchel.methods.resolve import resolve
from hatchel.metrics import reconstruction
from hatchel.metrics._aggregate import InformationIsolation
from hatchel.metrics._mig import MIG
from hatchel.metrics._reconstruction import Reconstruction
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score, Scores
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.run import TrainedRun, train


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    spec = resolve("beta_svae", "xy_squares", {"style": 3, "classes": 4}).with_fields(steps=3, batch_size=16)
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
    assert StoredScores(mixed).representations == ["mean", "sample", "coordinates"]
    assert representation(mixed, found, "coordinates").dims == 3
    assert representation(mixed, found, "mean").clusters is not None


def test_clustering_and_information_are_reported_where_they_can_be(mixed: TrainedRun, tmp_path: Path) -> None:
    result = evaluate(mixed, ["clustering", "elbo_terms", "mig"], store=False)
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
    spec = resolve("vae", XYSquares(size=16)).with_fields(
        steps=1, batch_size=8, latent=Correlated(dim, correlation), encoder=Mlp((4,)), decoder=MlpDecoder((4,))
    )
    run = train(spec, out=tmp_path / "run", progress=False)
    assert encodings(run).levels[0].noise is not None
    # Means drawn from N(0, I) make q(z) = N(0, I + s^2 C) as n grows, whose informations are log-determinants.
    mean = torch.randn(n, dim, generator=torch.Generator().manual_seed(0))
    q = CorrelatedGaussian(mean, torch.full((n, dim), 2 * math.log(std)), correlation)
    found = Encodings(np.arange(n) % 64, (level_codes(level_arrays([q], 0, 0)),), {})
    score = InformationIsolation(draws=3000).score(representation(run, found, "mean"), 0)
    c = np.full((dim, dim), correlation) + (1 - correlation) * np.eye(dim)
    conditional = -0.5 * np.log(np.linalg.det(c))
    marginal = 0.5 * (dim * np.log(1 + std**2) - np.log(np.linalg.det(np.eye(dim) + std**2 * c)))
    assert score.parts["conditional"] == pytest.approx(conditional, rel=1e-5)
    assert score.value == pytest.approx(conditional - marginal, abs=0.05)


@pytest.fixture
def run(tmp_path: Path) -> TrainedRun:
    spec = resolve("beta_vae", XYSquares(size=16, places=8)).with_fields(
        steps=2, batch_size=8, latent=Diagonal(3), encoder=Mlp((8,)), decoder=MlpDecoder((8,))
    )
    return train(spec, out=tmp_path / "run", progress=False)


def held_out(tmp_path: Path, **fields: Any) -> TrainedRun:
    spec = resolve("beta_vae", XYSquares(size=16, places=8, squares=2)).with_fields(
        steps=2, batch_size=8, latent=Diagonal(3), encoder=Mlp((8,)), decoder=MlpDecoder((8,)), test_share=0.1
    )
    return train(spec.with_fields(**fields), out=tmp_path / "run", progress=False)


def test_scores_are_of_held_out_items_where_there_are_any(tmp_path: Path, run: TrainedRun) -> None:
    held = held_out(tmp_path / "held", seed=3)
    training, testing = held.data.split(3, 0.1)
    assert np.array_equal(encodings(held).items, testing)  # 410 of 4,096: fewer than are asked for
    some = encodings(held, items=100).items
    assert len(some) == 100
    assert set(some) <= set(testing)
    assert set(encodings(held, items=3000, every=True).items) & set(training)
    interventions = "factor_vae_score,beta_vae_score,irs"
    found = evaluate(held, interventions, bootstrap=0)
    assert {s.n for s in found["mean"].values()} == {410}
    assert found.settings["held_out"] is True
    assert "on held-out items" in found.table().splitlines()[0]
    usual = evaluate(run, "mig", bootstrap=0)
    assert usual.settings["held_out"] is False
    assert "on the items it was trained on" in usual.table().splitlines()[0]


def test_too_few_held_out_items_for_their_factors_still_give_what_needs_none(tmp_path: Path) -> None:
    few = held_out(tmp_path, data=XYSquares(size=16, places=8), test_share=0.02)  # 1 of 64
    found = StoredScores(few).measure("mean", [MIG(), Reconstruction()], bootstrap=0)
    assert "reconstruction" in found
    assert "every factor takes one value only in these 1 rows" in found.skipped["mig"]


def test_without_a_held_out_part_items_are_drawn_as_ever(run: TrainedRun) -> None:
    expected = np.sort(np.random.default_rng(7).choice(64, 40, replace=False))
    assert np.array_equal(encodings(run, items=40, seed=7).items, expected)


@pytest.mark.parametrize("likelihood", [Bernoulli(), Gaussian(0.5)])
def test_reconstruction_at_samples_and_at_the_mean(tmp_path: Path, likelihood: Likelihood) -> None:
    run = held_out(tmp_path, likelihood=likelihood, test_share=0.5)  # 2,048 items: four batches
    score = evaluate(run, "reconstruction", bootstrap=0)["mean"]["reconstruction"]
    found, x = encodings(run), run.data.images(encodings(run).items) / np.float32(255)
    samples, means = run.decode(found.sample).clip(0, 1), run.decode(found.mean).clip(0, 1)
    parts = dict(score.parts)
    assert (score.n, score.value) == (2048, parts["at_samples"])
    assert parts["at_samples"] != parts["at_mean"]
    if isinstance(likelihood, Bernoulli):
        at_samples, at_mean = reconstruction(x, samples), reconstruction(x, means)
        assert parts["at_samples"] == pytest.approx(at_samples.value, rel=1e-5)
        assert parts["at_mean"] == pytest.approx(at_mean.value, rel=1e-5)
        assert parts["mse_per_pixel"] == pytest.approx(at_samples.parts["mse_per_pixel"], rel=1e-5)
        assert parts["mse_per_pixel_at_mean"] == pytest.approx(at_mean.parts["mse_per_pixel"], rel=1e-5)
        assert (parts["floor"], parts["above_floor"]) == (0, score.value)  # the squares are black and white
    else:
        constant = 3 * 256 * math.log(0.5 * math.sqrt(2 * math.pi))
        assert parts["at_mean"] == pytest.approx(3 * 256 * parts["mse_per_pixel_at_mean"] * 2 + constant, rel=1e-5)
        assert "floor" not in parts


def test_rows_of_a_table_are_reconstructed_in_nats(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    run = train(resolve("vae", XYSquares()), data=rows, out=tmp_path / "run", steps=1, batch_size=8, progress=False)
    parts = evaluate(run, "reconstruction", bootstrap=0)["mean"]["reconstruction"].parts
    assert set(parts) == {"at_samples", "at_mean"}
    found = encodings(run)
    x = torch.stack([run.data.reader()(torch.tensor([i]))[0] for i in found.items])
    with torch.inference_mode():
        means = run.model.decode(torch.from_numpy(found.mean))
    expected = 0.5 * (x - means).square().sum(1).mean() + 1.5 * math.log(2 * math.pi)
    assert parts["at_mean"] == pytest.approx(float(expected), rel=1e-5)


def no_encoding(run: TrainedRun, monkeypatch: pytest.MonkeyPatch) -> TrainedRun:
    """The run read again, with a model that refuses to encode."""
    again = TrainedRun.load(run.folder)

    def encode(*_: object) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr(again.model, "encode", encode)
    return again


def test_a_second_evaluation_reads_the_first(run: TrainedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate(run, "mig,reconstruction,elbo_terms,gaussian_tc", bootstrap=3)
    second = evaluate(no_encoding(run, monkeypatch), "mig,reconstruction,elbo_terms,gaussian_tc")
    assert second.to_dict() == first.to_dict()
    assert first["mean"]["mig"].interval is not None
    stored = Evaluation.load(run.folder)
    assert stored.to_dict() == first.to_dict()
    assert stored["mean"]["mig"].matrix == pytest.approx(first["mean"]["mig"].matrix)


def test_only_what_is_missing_is_measured(run: TrainedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(run, "mig", bootstrap=0)
    measured: list[str] = []
    usual = Metric.score

    def score(metric: Metric, *arguments: object) -> object:
        measured.append(metric.kind)
        return usual(metric, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Metric, "score", score)
    both = evaluate(run, "mig,gaussian_tc", bootstrap=0)
    assert measured == ["gaussian_tc", "gaussian_tc"]  # on means and samples
    assert set(both["mean"]) == {"mig", "gaussian_tc"}
    assert set(Evaluation.load(run.folder)["sample"]) == {"mig", "gaussian_tc"}
    evaluate(run, "mig", bootstrap=4)  # now with an interval, which replaces the score without one
    assert measured[2:] == ["mig", "mig"]
    assert Evaluation.load(run.folder)["mean"]["mig"].interval is not None
    assert evaluate(run, "mig")["mean"]["mig"].interval == evaluate(run, "mig", bootstrap=0)["mean"]["mig"].interval
    assert measured[4:] == []


def test_a_stale_evaluation_is_remade(run: TrainedRun) -> None:
    first = evaluate(run, "gaussian_tc", bootstrap=0)
    codes = {p.name for p in run.folder.glob("codes-*")}
    longer = train(run.spec.with_fields(steps=4), out=run.folder, resume=True, progress=False)
    second = evaluate(longer, "gaussian_tc", bootstrap=0)
    assert (first.settings["steps"], second.settings["steps"]) == (2, 4)
    assert first["mean"]["gaussian_tc"].value != second["mean"]["gaussian_tc"].value
    assert Evaluation.load(run.folder).settings == second.settings
    assert not codes & {p.name for p in run.folder.glob("codes-*")}  # nothing will read them again
    other = train(run.spec.with_fields(steps=4, seed=5), out=run.folder, force=True, progress=False)
    third = evaluate(other, "gaussian_tc", bootstrap=0)  # as many steps, other weights
    assert third["mean"]["gaussian_tc"].value != second["mean"]["gaussian_tc"].value
    fewer = evaluate(other, "gaussian_tc", items=40, bootstrap=0)
    assert (third["mean"]["gaussian_tc"].n, fewer["mean"]["gaussian_tc"].n) == (64, 40)
    assert evaluate(other, "gaussian_tc", items=40, seed=1, bootstrap=0).settings["seed"] == 1


def test_an_evaluation_of_0_1_is_read_and_remade(run: TrainedRun) -> None:
    interval = {"low": 0.25, "high": 0.75, "level": 0.95, "replicates": 9}
    score = {"name": "mig", "value": 0.5, "parts": {}, "matrix": [[None]], "factors": [], "settings": {}, "n": 64}
    score |= {"seed": 0, "notes": [], "interval": interval}
    settings = {"steps": 2, "items": 64, "seed": 0, "bootstrap": 9}
    write_json(run.folder / FILE, {"settings": settings, "mean": {"scores": {"mig": score}, "skipped": {}}})
    old = Evaluation.load(run.folder)["mean"]["mig"]
    assert old.interval is not None
    assert (old.value, old.interval.low, old.interval.high) == (0.5, 0.25, 0.75)
    assert evaluate(run, "mig", bootstrap=0)["mean"]["mig"].value != 0.5
    assert "weights" in Evaluation.load(run.folder).settings


@pytest.mark.parametrize("text", ["{", "[]", '{"settings": {}, "mean": {}}', '{"version": 99, "settings": {}}'])
def test_a_damaged_evaluation_is_remade(run: TrainedRun, text: str) -> None:
    (run.folder / FILE).write_text(text)
    with pytest.raises(HatchelError, match="evaluation"):
        Evaluation.load(run.folder)
    evaluate(run, "gaussian_tc", bootstrap=0)
    assert "gaussian_tc" in Evaluation.load(run.folder)["mean"]


def test_damaged_codes_are_encoded_again(run: TrainedRun) -> None:
    first = encodings(run)
    (path,) = run.folder.glob("codes-*.safetensors")
    whole = path.read_bytes()
    for content in (whole[:100], whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:]):
        path.write_bytes(content)
        np.testing.assert_array_equal(first.sample, encodings(run).sample)
        assert path.read_bytes() == whole


def test_stored_codes_are_those_that_were_encoded(mixed: TrainedRun) -> None:
    first = encodings(mixed, items=50, layers=True)
    again = encodings(mixed, items=50, layers=True)
    assert list(first.layers) == list(again.layers)
    for name, layer in first.layers.items():
        np.testing.assert_array_equal(layer, again.layers[name])
    (a,), (b,) = first.levels, again.levels
    assert a.real is not None
    assert b.real is not None
    for one, other in ((a.mean, b.mean), (a.sample, b.sample), (a.clusters, b.clusters), (a.real.std, b.real.std)):
        np.testing.assert_array_equal(one, other)
    assert (a.std, b.std) == (None, None)
    assert encodings(mixed, items=50).layers == {}  # the same file, of which the layers are left aside


def test_a_folder_that_cannot_be_written_is_still_evaluated(
    run: TrainedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hatchel.evaluation.codes.write_summed", refused)
    monkeypatch.setattr("hatchel.evaluation.evaluation.write_json", refused)
    found = evaluate(run, "gaussian_tc,mig", bootstrap=0)
    assert set(found["mean"]) == {"gaussian_tc", "mig"}
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "Permission denied" in lines[0]
    assert not list(run.folder.glob("codes-*"))


def test_large_codes_are_not_stored(run: TrainedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes_module, "LARGEST", 100)
    encodings(run)
    assert not list(run.folder.glob("codes-*"))


def test_many_dimensions_are_estimated_with_fewer_draws() -> None:
    """Two items 40 deviations apart: log 2 whatever the number of draws."""
    assert information_metric(15_000, 10).variant == "elbo_terms"
    few = information_metric(15_000, 100_000)
    assert few.draws * few.posteriors <= 400_000_000 // 100_000
    mean = np.repeat(np.float32([[-20.0] * 4, [20.0] * 4]), 50, axis=0)
    parts = few.score(Probe(mean, std=np.ones_like(mean))).parts["mutual_information_per_dimension"]
    assert np.allclose(list(parts.values()), math.log(2), atol=0.1)


def test_ones_own_metrics_and_networks_are_measured_anew(run: TrainedRun) -> None:
    class Spread(Metric):
        factor: float = 1.0
        needs = ()

        def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
            return self.result(probe, SCALE[0] * float(probe.codes.std()))

    SCALE = [1.0]
    first = evaluate(run, [Spread()], bootstrap=0)["mean"]["spread"].value
    SCALE[0] = 2.0  # its code was changed
    assert evaluate(run, [Spread()], bootstrap=0)["mean"]["spread"].value == pytest.approx(2 * first)
    del Metric._members["spread"]
    assert not has_own_code(run)

    class Own(torch.nn.Identity):
        pass

    run.model.encoder = torch.nn.Sequential(Own(), run.model.encoder)
    assert has_own_code(run)
    assert StoredScores(run)._stored() == {}


def test_what_was_stored_of_one_factor_means_nothing(tmp_path: Path) -> None:
    """Earlier versions stored a DCI of 1 for any code of a single factor: it is not measured, wherever it is read."""

    def stored(name: str, columns: int, named: bool = True) -> Score:
        factors = tuple("abc"[:columns]) if named else ()
        return Score(name, 1.0, matrix=np.ones((2, columns)) if named else None, factors=factors, n=64)

    def read(*scores: Score) -> Scores:
        body = Evaluation({"mean": Scores({s.name: s for s in scores}, {})}, {"steps": 1}).to_dict()
        write_json(tmp_path / FILE, body)
        return Evaluation.load(tmp_path)["mean"]

    lone = read(stored("mig", 1), stored("dci(regressor=forest)", 1), stored("beta_vae_score", 0, named=False))
    assert list(lone) == ["mig"]
    reason = "needs at least 2 factors that vary: with one, there is nothing to tell apart"
    assert lone.skipped == {"dci(regressor=forest)": reason, "beta_vae_score": reason}
    constant = stored("dci", 2)
    assert constant.matrix is not None
    constant.matrix[:, 1] = np.nan
    assert read(constant).skipped == {"dci": reason}
    assert list(read(stored("mig", 2), stored("dci", 2), stored("beta_vae_score", 0, named=False))) == [
        "mig", "dci", "beta_vae_score"
    ]  # fmt: skip
    unknown = read(stored("beta_vae_score", 0, named=False))
    assert (dict(unknown), unknown.skipped) == ({}, {})  # measured again where it is asked for
