from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hatchel.data.dataset import Dataset
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import encodings
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.metrics import factor_vae_score, gaussian_tc, mig
from hatchel.report.findings import HEADLINES, Findings, analyse
from hatchel.training.run import TrainedRun, train


def test_headlines_are_the_metrics_own_numbers(run: TrainedRun, found: Findings) -> None:
    encoded = encodings(run)
    factors = run.data.factors(encoded.items)
    assert found.scores["mig"].value == mig(encoded.mean, factors).value
    assert found.scores["factor_vae_score"].value == factor_vae_score(encoded.mean, factors).value
    assert found.scores["tc_mean"].value == gaussian_tc(encoded.mean).value
    assert found.scores["tc_sample"].value == gaussian_tc(encoded.sample).value


def test_every_headline_is_there_or_says_why_not(found: Findings) -> None:
    for line in HEADLINES:
        assert (line.key in found.scores) != (line.label in found.skipped)


def test_information_is_that_of_the_dimensions(found: Findings) -> None:
    parts = found.terms.parts
    assert math.isclose(
        found.terms.value,
        parts["mutual_information"] + parts["total_correlation"] + parts["dimension_kl"],
        abs_tol=1e-6,
    )
    per_dimension = parts["mutual_information_per_dimension"]
    assert found.dimensions.information.tolist() == [per_dimension[f"z{d}"] for d in range(4)]


def test_scores_as_json_values(found: Findings) -> None:
    plain = found.to_dict()
    assert {"mig", "factor_vae_score", "tc_mean", "tc_sample", "r2_x", "r2_y"} <= set(plain)
    for entry in plain.values():
        assert entry["low"] <= entry["value"] <= entry["high"]
        assert entry["replicates"] == 3
        assert entry["n"] == 64
    codes, x = found.encoded.mean, np.asarray(found.probe.values)[:, 0]
    best = plain["r2_x"]["dimension"]
    assert math.isclose(plain["r2_x"]["value"], np.corrcoef(codes[:, best], x)[0, 1] ** 2, rel_tol=1e-5)


def test_a_run_on_images_without_factors(unknown: Callable[[tuple[int, ...]], TrainedRun]) -> None:
    found = analyse(unknown((16, 16, 3)), bootstrap=2)
    assert set(found.scores) == {"tc_mean", "tc_sample"}
    assert "needs the factors" in found.skipped["MIG"]
    assert found.fits == ()
    assert found.dimensions.shares is None


def test_dependence_is_that_of_the_real_coordinates_alone(mixed: Findings) -> None:
    assert mixed.scores["tc_mean"].value == gaussian_tc(mixed.encoded.mean[:, 3:]).value
    assert mixed.scores["tc_sample"].value == gaussian_tc(mixed.encoded.sample[:, 3:]).value


def test_one_factor_is_too_few_to_compare(tmp_path: Path) -> None:
    spec = resolve("vae", XYSquares(size=16, places=4)).with_fields(steps=1, batch_size=8, latent=Diagonal(2))
    run = train(spec, out=tmp_path / "run", progress=False)
    codes = run.data.factors(np.arange(len(run.data)))
    assert codes is not None
    codes[:, 1] = 0  # only x varies
    run._data = Dataset("one", run.data.array, run.data.space, codes, decode=run.data.decode)
    found = analyse(run, bootstrap=0)
    assert found.skipped["DCI disentanglement"].startswith("needs at least 2 factors that vary")
    assert "mig" in found.scores
