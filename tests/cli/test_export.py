from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.runs import export
from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.export.safetensors import read
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.run import TrainedRun, train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    parts = {"latent": Diagonal(2), "encoder": Mlp((8,)), "decoder": MlpDecoder((8,))}
    spec = resolve("vae", XYSquares(size=16)).with_fields(steps=2, batch_size=8, **parts)
    return train(spec, out=tmp_path_factory.mktemp("runs") / "run", progress=False)


def called(*arguments: object) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(export)
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False).output


def test_several_at_once(run: TrainedRun, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    folders = {name: tmp_path / name for name in ("onnx", "safetensors", "hub")}
    output = called(run.folder, *(a for name, folder in folders.items() for a in (f"--{name}", folder)))
    lines = output.splitlines()
    assert [line.split(":")[0] for line in lines] == ["ONNX", "Safetensors", "Hub"]
    assert all("(outputs differ from the run's by at most " in line for line in lines)
    assert lines[1].endswith("0.0e+00)")
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")} == {
        "onnx/encoder.onnx", "onnx/decoder.onnx",
        "safetensors/config.json", "safetensors/model.safetensors",
        "hub/config.json", "hub/model.safetensors", "hub/README.md",
    }  # fmt: skip
    assert read(folders["hub"]).steps == 2


def test_torchscript_is_gone_and_says_what_to_use(run: TrainedRun, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="no longer written; use --onnx FOLDER"):
        called(run.folder, "--torchscript", tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_bad_input(run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HatchelError, match="name at least one of --onnx"):
        called(run.folder)
    with pytest.raises(HatchelError, match="name its folder with --hub"):
        called(run.folder, "--onnx", tmp_path / "o", "--push", "me/it")
    with pytest.raises(HatchelError, match="is not a run"):
        called(tmp_path, "--safetensors", tmp_path / "o")
    half = tmp_path / "half"
    shutil.copytree(run.folder, half)
    shutil.rmtree(half / "checkpoints")
    with pytest.raises(HatchelError, match="has no checkpoint yet"):
        called(half, "--safetensors", tmp_path / "o")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HatchelError, match=r"hatchel\[hub\]"):
        called(run.folder, "--hub", tmp_path / "o", "--push", "me/it")
    with pytest.raises(HatchelError, match="already holds"):
        called(run.folder, "--safetensors", tmp_path / "o", "--hub", tmp_path)
    assert not (tmp_path / "o").exists()  # everything is looked at before anything is written
