"""`hatchel zoo`, and `zoo:NAME` where a command takes a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hatchel.cli.main import app, main
from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.export import zoo
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.training.run import train

NAME = "xy_squares/vae"
CARD = zoo.Card(
    NAME, "vae on xy_squares", 1, {"0": 0.1, "1": 0.2, "2": 0.4}, "the median", "the same",
    {"mig": {"value": 0.2, "low": 0.1, "high": 0.3}, "dci": {"value": 0.5, "low": None, "high": None}}, "on 64 items",
)  # fmt: skip


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("zoo")
    spec = resolve("vae", XYSquares(size=16)).with_fields(steps=2, batch_size=8, latent=Diagonal(2), seed=1)
    zoo.pack(train(spec, out=place / "run", progress=False), CARD, place / "zoo")
    return place / "zoo"


@pytest.fixture(autouse=True)
def here(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(zoo, "ZOO", packed)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_list_and_show() -> None:
    (row,) = json.loads(said("zoo", "list", "--json"))
    assert (row["name"], row["seed"], row["seeds"]["2"]) == (NAME, 1, 0.4)
    assert "zoo:xy_squares/vae" in said("zoo", "list")
    shown = said("zoo", "show", f"zoo:{NAME}")
    assert "0.100 (seed 0), 0.200 (seed 1, this one), 0.400 (seed 2)" in shown
    assert "0.200 [0.100, 0.300]" in shown
    assert row["digest"] in shown


def test_every_command_takes_its_name(here: Path) -> None:
    assert "mig" in said("evaluate", f"zoo:{NAME}", "--metrics", "mig", "--bootstrap", "0")
    copy = here / "runs/zoo/xy_squares/vae"
    assert (copy / "evaluation.json").is_file()
    said("report", f"zoo:{NAME}", "--bootstrap", "0", "--quiet")
    assert (copy / "report.html").is_file()
    said("export", f"zoo:{NAME}", "--safetensors", "out")
    assert (here / "out/model.safetensors").is_file()
    assert "0 damaged" in said("verify", str(copy))


def test_mistakes_are_one_line(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["explore", "zoo:xy_squares/vea"], ["evaluate", "zoo:vae"], ["zoo", "show", "xy_squares/vaee"]):
        monkeypatch.setattr(sys, "argv", ["hatchel", *arguments])
        with pytest.raises(SystemExit) as exit:
            main()
        error = capsys.readouterr().err
        assert exit.value.code == 2
        assert error.count("\n") == 1
        assert "Did you mean zoo:xy_squares/vae? All of them: hatchel zoo list" in error
    assert not (here / "runs").exists()


def test_a_folder_that_cannot_be_written(here: Path) -> None:
    (here / "runs").write_text("a file where the copies would go")
    with pytest.raises(HatchelError, match=r"cannot be written .*work in a folder of your own"):
        zoo.unpacked(NAME)
    assert [path.name for path in here.iterdir()] == ["runs"]
