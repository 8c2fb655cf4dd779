"""`hatchel data`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from hatchel.cli.data import app
from hatchel.core.errors import HatchelError
from hatchel.data.files import RemoteFile
from hatchel.data.mnist import MNIST


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HATCHEL_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_says_what_is_here(folder: Path) -> None:
    entries = {e["kind"]: e for e in json.loads(run("list", "--json"))}
    assert entries["dsprites"]["state"] == "built in"
    assert "memory" not in entries  # an array that a program held: no name would load it
    assert entries["images"]["state"] == "your own"
    assert entries["mnist"]["state"] == entries["mnist_rotation"]["state"] == "needs files"
    assert entries["mnist"]["folder"] == str(folder / "data" / "mnist") == entries["pruned_mnist"]["folder"]
    assert "size" in entries["dsprites"]["options"]
    (folder / "data" / "mnist").mkdir(parents=True)
    (folder / "data" / "mnist" / "train-images-idx3-ubyte").write_text("")
    entries = {e["kind"]: e for e in json.loads(run("list", "--json"))}
    assert entries["mnist"]["state"] == "partly here"
    assert [f["here"] for f in entries["mnist"]["files"]] == [True, False, False, False]
    table = run("list")
    assert all(kind in table for kind in entries)


def test_show_describes_and_draws(folder: Path) -> None:
    output = run("show", "xy_squares", "size=16", "squares=2", "places=4", "--out", "sheets/s.png")
    assert "256 items of shape (3, 16, 16)" in output
    assert "every combination once" in output
    assert "x_1" in output
    with Image.open(folder / "sheets" / "s.png") as image:
        assert image.size == (10 * 18, 6 * 18)
    run("show", "xy_squares")
    assert (folder / "xy_squares.png").is_file()


def test_show_a_table(folder: Path) -> None:
    pytest.importorskip("pandas")
    (folder / "t.csv").write_text("age,city\n1,a\n2,b\n3,a\n")
    output = run("show", "t.csv", "factors=[city]")
    assert "age" in output
    assert "gaussian" in output
    assert "city" in output
    assert not (folder / "t.png").exists()


def test_verify_reads_and_names_what_is_wrong(folder: Path) -> None:
    assert "64 items, 64 of them read" in run("verify", "xy_squares")
    np.save(folder / "a.npy", np.full((3, 4, 4), np.nan))
    with pytest.raises(HatchelError, match="NaN"):
        run("verify", "a.npy")
    (folder / "data" / "mnist").mkdir(parents=True)
    (folder / "data" / "mnist" / "train-images-idx3-ubyte").write_bytes(b"rubbish")
    with pytest.raises(HatchelError, match="checksum differs"):
        run("verify", "mnist")


def test_get(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "needs no files" in run("get", "xy_squares")
    with pytest.raises(HatchelError, match="Did you mean 'mnist'"):
        run("get", "mnits")
    with pytest.raises(HatchelError, match="Download it from https://mmlab"):
        run("get", "celeba")
    with pytest.raises(HatchelError, match="no file with 'valid' in its name"):
        run("get", "mnist", "--only", "valid")
    monkeypatch.setattr("hatchel.data.files._download", lambda address, partial, label: partial.write_text(address))
    file = RemoteFile("train.txt", ("http://example.org/train.txt",))
    monkeypatch.setattr(MNIST, "files", (file, RemoteFile("other.txt")))
    assert str(folder / "data" / "mnist" / "train.txt") in run("get", "mnist_rotation", "--only", "train").replace(
        "\n", ""
    )
    assert (folder / "data" / "mnist" / "train.txt").read_text() == "http://example.org/train.txt"


def test_mistakes(folder: Path) -> None:
    with pytest.raises(HatchelError, match="expected key=value"):
        run("show", "xy_squares", "16")
    with pytest.raises(HatchelError, match="unknown dataset 'nothing'"):
        run("show", "nothing")


@pytest.mark.parametrize("command", ["list", "get", "verify", "show"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: hatchel data {command}" in run(command, "--help")


def test_options_of_data_are_typed_as_for_training_or_alone():
    from hatchel.cli.options import named_source
    from hatchel.data.xy_squares import XYSquares

    assert named_source("xy_squares", ["size=16"]) == named_source("xy_squares", ["data.size=16"]) == XYSquares(size=16)
