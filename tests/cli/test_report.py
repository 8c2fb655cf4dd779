from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.runs import report
from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.training.run import train


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(report)
    return app


def test_report_of_a_run(app: typer.Typer, tmp_path: Path) -> None:
    spec = resolve("vae", XYSquares(size=16)).with_fields(steps=2, batch_size=8, latent=Diagonal(2))
    run = train(spec, out=tmp_path / "run", progress=False)
    result = CliRunner().invoke(app, [str(run.folder), "--bootstrap", "0"], catch_exceptions=False)
    assert result.output.strip() == f"Report: {run.folder / 'report.html'}"
    text = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>vae on xy_squares</h1>" in text
    assert "64 items drawn at random (seed 0), posterior means, on the items it was trained on" in text
    assert re.search(r"Reconstruction of all 64, in nats per image: at samples [\d.]+, at the mean [\d.]+", text)
    elsewhere = tmp_path / "else" / "page.html"
    CliRunner().invoke(app, [str(run.folder), "--out", str(elsewhere), "-n", "30"], catch_exceptions=False)
    assert "30 items drawn at random" in elsewhere.read_text(encoding="utf-8")


def test_several_runs_are_compared_and_their_figures_kept(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = resolve("vae", XYSquares(size=16, places=4)).with_fields(steps=1, batch_size=8, latent=Diagonal(2))
    for seed in (0, 1):
        train(spec, out=tmp_path / f"run{seed}", progress=False, seed=seed)
    monkeypatch.chdir(tmp_path)
    arguments = ["run0", "run1", "--bootstrap", "0", "--figures", "pictures"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.output.splitlines()[0] == "1/2  run0"
    assert result.output.splitlines()[-1] == "Report: comparison.html"
    assert "<h1>2 runs on xy_squares</h1>" in Path("comparison.html").read_text(encoding="utf-8")
    names = {p.name for p in Path("pictures").iterdir()}
    assert {"scores.png", "scores.svg", "losses.svg", "information.png", "vae-seed-1-traversals.gif"} <= names
    assert f"Figures: {len(names)} files in pictures" in result.output


def test_a_bad_run_among_good_ones_is_named_before_anything_is_written(app: typer.Typer, tmp_path: Path) -> None:
    spec = resolve("vae", XYSquares(size=16, places=4)).with_fields(steps=1, batch_size=8, latent=Diagonal(2))
    run = train(spec, out=tmp_path / "run", progress=False)
    with pytest.raises(HatchelError, match="other: is not a run"):
        CliRunner().invoke(
            app, [str(run.folder), str(tmp_path / "other"), "--figures", str(tmp_path / "f")], catch_exceptions=False
        )
    assert {p.name for p in tmp_path.iterdir()} == {"run"}


def test_not_a_run(app: typer.Typer, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="is not a run"):
        CliRunner().invoke(app, [str(tmp_path)], catch_exceptions=False)
    assert not list(tmp_path.iterdir())
