"""train, load and evaluate: one call each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hatchel
from hatchel.methods.vae import BetaVAE

SMALL = {"batch_size": 16, "steps": 3, "progress": False, "latent.dim": 3}


def test_a_method_by_name_with_its_parameters_and_fields_of_the_run(tmp_path: Path) -> None:
    run = hatchel.train("beta_vae", data="xy_squares", beta=2, out=tmp_path / "a", **SMALL)
    expected = hatchel.resolve("beta_vae", "xy_squares", {"beta": 2, "latent.dim": 3, "steps": 3, "batch_size": 16})
    assert isinstance(run, hatchel.Run)
    assert run.spec == expected.fit_to(run.data)
    again = hatchel.train(expected, out=tmp_path / "b", progress=False)
    same = hatchel.train(BetaVAE(2), data="xy_squares", out=tmp_path / "c", **SMALL)
    images = run.data.images(np.arange(5))
    for other in (again, same, hatchel.load(tmp_path / "a"), hatchel.Run.load(tmp_path / "b")):
        assert isinstance(other, hatchel.Run)
        np.testing.assert_array_equal(other.encode(images), run.encode(images))


def test_fields_of_the_data(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL, **{"data.size": 16, "encoder": "mlp"})
    assert (run.spec.data.size, run.shape) == (16, (1, 16, 16))


def test_schedules_follow_the_steps_of_the_call(tmp_path: Path) -> None:
    run = hatchel.train("annealed_vae", data="xy_squares", out=tmp_path, **SMALL)
    assert run.spec.objective["kl"].weight.steps == 1


def test_an_array_is_data(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    run = hatchel.train("vae", data=rows, out=tmp_path, **SMALL)
    assert run.encode(rows).shape == (40, 3)


def test_evaluate_takes_a_run_its_folder_or_arrays(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL)
    found = [hatchel.evaluate(what, ["mig"], items=64, bootstrap=0) for what in (run, tmp_path)]
    found.append(run.evaluate(["mig"], items=64, bootstrap=0))
    assert len({float(f["mean"]["mig"]) for f in found}) == 1
    codes = np.repeat(np.arange(4.0), 25)[:, None]
    assert float(hatchel.evaluate(codes, codes.astype(int), "mig")["mig"]) == pytest.approx(1)


def test_report(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL)
    assert run.report(tmp_path / "page.html").read_text().startswith("<!")
