"""One evaluation: every command shows the same numbers with the same intervals, and only the first one measures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.cli.runs import evaluate
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.evaluation import Evaluation
from hatchel.evaluation.evaluation import evaluate as evaluate_run
from hatchel.explorer.session import Session
from hatchel.export.hub import card
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.metrics.metric import Metric
from hatchel.report.findings import HEADLINES, analyse
from hatchel.report.page import page
from hatchel.training.run import TrainedRun, train

OF = {"tc_mean": ("mean", "gaussian_tc"), "tc_sample": ("sample", "gaussian_tc")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = resolve("beta_vae", XYSquares(size=16, places=8)).with_fields(
        steps=20, batch_size=16, latent=Diagonal(3), log_every=5
    )
    return train(spec, out=tmp_path_factory.mktemp("evaluate") / "run", progress=False).folder


def called(*arguments: object) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(evaluate)
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False).stdout


def test_every_command_shows_the_same_numbers_and_only_the_first_measures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "mig,sap,dci,factor_vae_score,gaussian_tc,elbo_terms,disintegration,reconstruction"
    printed = json.loads(called(folder, "--metrics", names, "--json"))
    run = TrainedRun.load(folder)

    def again(*_: object, **__: object) -> None:
        raise AssertionError("encoded or measured again")

    monkeypatch.setattr(run.model, "encode", again)
    monkeypatch.setattr(Metric, "score", again)
    found = analyse(run)
    html = page(found)
    text = card(run)
    assert "Of the posterior means of 64 items, after 20 steps, seed 0, on the items it was trained on." in text
    for line in HEADLINES:
        representation, metric = OF.get(line.key, ("mean", line.key))
        stored = printed[representation]["scores"][metric]
        ends = stored["interval"]
        own = found.scores[line.key]
        assert own.interval is not None
        assert (own.value, own.interval.low, own.interval.high, own.replicates) == (
            stored["value"], ends["low"], ends["high"], ends["replicates"],
        )  # fmt: skip
        shown = f'data-label="Value">{own.value:.3f}<small>'
        assert f"{shown}{own.interval.low:.3f} – {own.interval.high:.3f}" in html
        if representation == "mean":
            assert f"| {metric} | {own.value:.4f} | {ends['low']:.4f} to {ends['high']:.4f} |" in text
    information = printed["mean"]["scores"]["elbo_terms"]["parts"]["mutual_information_per_dimension"]
    sliders = Session([run]).runs[0].spaces[0].sliders
    assert {s.name: s.information for s in sliders} == information
    assert re.search(rf"I\(x;z\) {printed['mean']['scores']['elbo_terms']['parts']['mutual_information']:.2f},", html)
    study = evaluate_run(run, names.split(","), bootstrap=0)  # as the cells of a study do
    for representation in ("mean", "sample"):
        for name, score in study[representation].items():
            assert score.to_dict() == printed[representation]["scores"][name]


def test_it_says_where_the_scores_are(folder: Path) -> None:
    output = called(folder, "--metrics", "mig", "--bootstrap", "0")
    assert output.strip().splitlines()[-1] == f"Stored in {folder / 'evaluation.json'}"
    assert "mig" in Evaluation.load(folder)["mean"]


def test_a_collapsed_model_is_announced_everywhere(tmp_path: Path) -> None:
    said = "0 of 3 dimensions active: train longer or lower beta"
    lines = [
        "train",
        "vae",
        "data=xy_squares",
        "data.size=16",
        "data.places=4",
        "batch_size=16",
        "steps=1",
        "latent.dim=3",
    ]
    told = CliRunner().invoke(app, [*lines, "optimizer.lr=1e-9", "-q", "--out", str(tmp_path / "run")])
    assert told.stderr.strip().endswith(said)
    assert said in called(tmp_path / "run", "--bootstrap", 0)
    assert called(tmp_path / "run", "--bootstrap", 0, "--metrics", "mig").splitlines()[1] == said
    run = TrainedRun.load(tmp_path / "run")
    assert f"**{said}.**" in card(run)
    assert "Not measured: clustering: needs a discrete latent" in card(run)
    assert said in page(analyse(run, bootstrap=0))


def test_why_a_score_is_missing_is_said_once_for_all_that_lack_the_same(tmp_path: Path) -> None:
    """Without factors that is most of the metrics: a line each would hide the scores that there are."""
    run = train(
        resolve("vae", "xy_squares").with_fields(steps=1, batch_size=8, latent=Diagonal(2)),
        data=np.random.default_rng(0).normal(size=(20, 3)), out=tmp_path / "run", progress=False,
    )  # fmt: skip
    lines = evaluate_run(run, "mig,active_units,sap,rmig", bootstrap=0).table().splitlines()
    assert [line for line in lines if "not measured" in line] == [
        "not measured: mig, sap, rmig: needs the factors of every row",
        "not measured: mig, sap: needs the factors of every row",
        "not measured: rmig: needs the factors of every row and the standard deviations of q(z|x)",
    ]
    assert sum(line.startswith("active_units") for line in lines) == 2
