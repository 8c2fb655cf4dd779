from __future__ import annotations

import json

import numpy as np
import pytest

import hatchel.training.run
from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import evaluate
from hatchel.methods.resolve import resolve
from hatchel.study.grid import metrics
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained, flat

RUN = updated(
    resolve("beta_tcvae", XYSquares(size=16)),
    {"steps": 6, "batch_size": 8, "log_every": 1, "latent.dim": 3, "encoder": "mlp", "decoder": "mlp_decoder"},
)
MEASURED = metrics("mig", "gaussian_tc", "reconstruction")


def cell(**fields) -> Trained:
    return Trained(**{"seed": 1, "run": RUN, "metrics": MEASURED, "items": 120, **fields})


@pytest.fixture
def place(tmp_path) -> Workspace:
    return Workspace(tmp_path / "cell", tmp_path / "runs")


def test_values_are_those_of_the_evaluation_of_the_same_run(place, tmp_path):
    found = cell().compute(place)
    run = hatchel.training.run.train(RUN.with_fields(seed=1, threads=1), out=tmp_path / "alone", progress=False)
    wanted = evaluate(run, MEASURED, items=120, seed=0, store=False)
    assert found.values == flat(wanted)
    assert found.values["mig"] == wanted["mean"]["mig"].value
    assert found.values["mig@sample"] == wanted["sample"]["mig"].value
    assert found.values["mig.x"] == wanted["mean"]["mig"].parts["x"]
    matrix = wanted["mean"]["mig"].matrix
    assert matrix is not None
    assert np.array_equal(found.details["matrices"]["mig"]["rows"], matrix)
    assert found.details["matrices"]["mig"]["factors"] == ["x", "y"]
    assert [step for step, _ in found.details["training"]["loss"]] == [1, 2, 3, 4, 5, 6]
    assert found.details["curves"] == {}


def test_the_seed_is_the_tasks(place):
    assert cell(seed=1).compute(place).values != cell(seed=2).compute(place).values


def test_snapshots_end_where_training_in_one_go_ends_bit_for_bit(place):
    whole = cell().compute(place)
    found = cell(snapshots=3).compute(place)
    assert found.values == whole.values
    assert {tuple(step for step, _ in curve) for curve in found.details["curves"].values()} == {(2, 4, 6)}
    assert found.details["curves"]["mig"][-1] == [6, whole.values["mig"]]
    assert [step for step, _ in found.details["history"]] == [2, 4, 6]
    assert found.details["history"][-1][1] == found.details["matrices"] == whole.details["matrices"]
    short = cell(run=RUN.with_fields(steps=2)).compute(place)
    assert {n: c[0] for n, c in found.details["curves"].items()} == {n: [2, v] for n, v in short.values.items()}
    json.dumps(found.details, allow_nan=False)


def test_a_snapshot_task_that_was_killed_measures_the_same_again(place, monkeypatch):
    wanted = cell(snapshots=3).compute(Workspace(place.folder / "whole", place.runs))
    evaluated, calls = Trained.evaluated, []

    def dies(self, run, *metrics):
        calls.append(run.steps)
        if calls == [2, 4]:
            raise KeyboardInterrupt
        return evaluated(self, run, *metrics)

    monkeypatch.setattr(Trained, "evaluated", dies)
    with pytest.raises(KeyboardInterrupt):
        cell(snapshots=3).compute(place)
    assert cell(snapshots=3).compute(place) == wanted
    assert calls == [2, 4, 2, 4, 6]  # each on its own checkpoint, though the run has gone on


def test_snapshots_of_other_metrics_have_a_run_of_their_own(place):
    cell(snapshots=2).compute(place)
    other = Workspace(place.folder.with_name("other"), place.runs)
    found = cell(snapshots=2, metrics=metrics("mig")).compute(other)
    (first, start), (last, end) = found.details["curves"]["mig"]
    assert (first, last) == (3, 6)
    assert start != end


def test_a_run_with_snapshots_is_there_for_tasks_without(place, monkeypatch):
    found = cell(snapshots=2).compute(place)
    monkeypatch.setattr(hatchel.training.run, "fit", lambda *a, **k: pytest.fail("trained again"))
    elsewhere = Workspace(place.folder.with_name("other"), place.runs)
    assert cell().compute(elsewhere).values == found.values


def test_more_snapshots_than_steps_are_refused():
    with pytest.raises(HatchelError, match="7 of 6 steps"):
        cell(snapshots=7)


def test_two_tasks_that_measure_one_run_train_it_once(place, monkeypatch):
    fit, fitted = hatchel.training.run.fit, []
    monkeypatch.setattr(hatchel.training.run, "fit", lambda *a, **k: (fitted.append(a[4]), fit(*a, **k)))
    first = cell().compute(place)
    second = cell(metrics=metrics("mig"), items=60).compute(place)
    assert len(fitted) == 1
    assert set(second.values) < set(first.values)
    assert len(list(place.runs.glob("*/events.jsonl"))) == 1


def test_layers(place):
    plain, layered = (
        cell(metrics=metrics("mig")).compute(place),
        cell(metrics=metrics("mig"), layers=True).compute(place),
    )
    assert plain.values.items() <= layered.values.items()


def test_an_error_says_which_run(place):
    broken = cell(run=updated(RUN, {"optimizer.lr": 1e9, "steps": 40}))
    with pytest.raises(HatchelError, match=r"beta_tcvae, seed 1: "):
        broken.compute(place)
