from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.runs import explore
from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.training.run import train

START = "import typer; from hatchel.cli.runs import explore; app = typer.Typer(); app.command()(explore); app()"


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(explore)
    return app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = resolve("vae", XYSquares(size=16)).with_fields(steps=1, batch_size=8, latent=Diagonal(2))
    return train(spec, out=tmp_path_factory.mktemp("explore") / "run", progress=False).folder


@pytest.mark.skipif(os.name != "posix", reason="interrupts the process by a signal")
def test_it_serves_until_interrupted(folder: Path) -> None:
    program = [sys.executable, "-c", START, str(folder), "-n", "20"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Explorer: http://127.0.0.1:")
        address = line.split()[1]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address, timeout=20) as page:
            assert b"vae on xy_squares" in page.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert "Traceback" not in errors
        assert process.returncode == 130


def test_what_is_not_a_run(app: typer.Typer, tmp_path: Path, folder: Path) -> None:
    def refused(*arguments: str) -> str:
        with pytest.raises(HatchelError) as error:
            CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        return str(error.value)

    assert "is not a run" in refused(str(tmp_path))
    assert "is not a run" in refused(str(folder), str(tmp_path))
    config = read_json(folder / "config.json")
    place = tmp_path / "run"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config | {"format": 99}))
    assert "newer Hatchel" in refused(str(place))
    (place / "config.json").write_text(json.dumps(config))
    assert f"has no checkpoint yet; train it with: hatchel train {place} --resume" in refused(str(place))
    (place / "config.json").write_text(json.dumps(config)[:200])
    assert "is not JSON" in refused(str(place))
    assert "--static" in refused(str(folder), "--runtime", str(tmp_path))
    assert "already there" in refused(str(folder), "--static", str(tmp_path))
    assert "--runtime" in refused(str(folder), "--static", str(tmp_path / "new"), "--runtime", str(tmp_path))
    assert not (tmp_path / "new").exists()
