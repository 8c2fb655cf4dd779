"""A run and its data: found from any folder, pointed at where they are now, and never taken for others in silence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.errors import HatchelError
from hatchel.evaluation.evaluation import Evaluation

CHOICES = ["steps=2", "batch_size=8", "encoder=mlp", "decoder=mlp_decoder", "encoder.hidden=[8]", "decoder.hidden=[8]"]


def hatchel(*arguments: object) -> str:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False).output


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Trained with a path relative to a folder that is left again; then the data move."""
    home = tmp_path / "home"
    home.mkdir()
    images = np.random.default_rng(0).integers(0, 256, (40, 3, 12, 16), dtype=np.uint8)
    np.savez(home / "own.npz", x=images, other=images[::-1], labels=np.arange(40) % 4)
    monkeypatch.chdir(home)
    hatchel("train", "vae", "data=own.npz", "data.key=x", *CHOICES, "--out", "run", "--quiet")
    monkeypatch.chdir(tmp_path)
    assert json.loads((home / "run/config.json").read_text())["spec"]["data"]["path"] == str(home / "own.npz")
    hatchel("evaluate", "home/run", "--metrics", "mig")
    assert (home / "run/evaluation.json").exists()
    (home / "own.npz").rename(tmp_path / "moved.npz")
    return home / "run"


def test_the_remedy_works_as_typed(run: Path, tmp_path: Path) -> None:
    before = float(Evaluation.load(run)["mig"])
    (run / "evaluation.json").unlink()
    for command in (["evaluate", run], ["report", run], ["explore", run]):
        with pytest.raises(HatchelError, match=r"no longer at .*own\.npz; name their new place with --data"):
            hatchel(*command)
    moved = tmp_path / "moved.npz"
    assert "is not the data" not in hatchel("evaluate", run, "--metrics", "mig", "--data", moved)
    assert float(Evaluation.load(run)["mig"]) == before
    assert "Report:" in hatchel("report", run, "--data", moved, "--bootstrap", "0")
    assert "Safetensors:" in hatchel("export", run, "--safetensors", tmp_path / "out", "--data", moved)


def test_a_run_goes_on_with_moved_data_and_finds_them_from_then_on(run: Path, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"no longer at .*own\.npz; name their new place with --data"):
        hatchel("train", run, "--resume", "steps=4", "--quiet")
    hatchel("train", run, "--resume", "steps=4", "--quiet", "--data", tmp_path / "moved.npz")
    assert "steps=4" in hatchel("evaluate", run, "--metrics", "mig")


def test_other_data_are_refused_or_announced(run: Path, tmp_path: Path) -> None:
    with np.load(tmp_path / "moved.npz") as found:
        np.savez(tmp_path / "other.npz", x=found["other"], labels=found["labels"])
        np.savez(tmp_path / "rows.npz", x=np.zeros((40, 5)))
    with pytest.raises(HatchelError, match="was trained on other data"):
        hatchel("train", run, "--resume", "steps=4", "--data", tmp_path / "other.npz")
    text = hatchel("evaluate", run, "--metrics", "mig", "--data", tmp_path / "other.npz")
    assert "other is not the data it was trained on" in text
    with pytest.raises(HatchelError, match=r"items of shape \(3, 12, 16\), those of rows have \(5,\)"):
        hatchel("evaluate", run, "--data", tmp_path / "rows.npz")
    with pytest.raises(HatchelError, match="unknown dataset 'nowhere'"):
        hatchel("evaluate", run, "--data", "nowhere")
