from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.report import report
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.presets.preset import preset
from hatchel.run import train


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(report)
    return app


def test_report_of_a_run(app: typer.Typer, tmp_path: Path) -> None:
    spec = preset("vae", data=XYSquares(size=16)).with_fields(steps=2, batch_size=8, latent=Diagonal(2))
    run = train(spec, out=tmp_path / "run", progress=False)
    result = CliRunner().invoke(app, [str(run.folder), "--bootstrap", "0"], catch_exceptions=False)
    assert result.output.strip() == f"Report: {run.folder / 'report.html'}"
    text = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>vae on xy_squares</h1>" in text
    assert "64 items drawn at random (seed 0)" in text
    elsewhere = tmp_path / "else" / "page.html"
    CliRunner().invoke(app, [str(run.folder), "--out", str(elsewhere), "-n", "30"], catch_exceptions=False)
    assert "30 items drawn at random" in elsewhere.read_text(encoding="utf-8")


def test_not_a_run(app: typer.Typer, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not a run"):
        CliRunner().invoke(app, [str(tmp_path)], catch_exceptions=False)
    assert not list(tmp_path.iterdir())
