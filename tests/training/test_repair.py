"""Damage costs what is damaged and no more, and is never silent; a run folder has one writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json, write_json
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.checkpoint import checkpoints, restore, save
from hatchel.training.events import bad_lines, read_events
from hatchel.training.loop import make_optimizer
from hatchel.training.run import TrainedRun, resume_run, train
from hatchel.training.spec import RunSpec
from tests.torture import damages, flip

SMALL = {"encoder": Mlp((8,)), "decoder": MlpDecoder((8,)), "latent.dim": 2, "device": "cpu"}


def spec(**fields: object) -> RunSpec:
    base = resolve("beta_vae", "xy_squares").with_fields(batch_size=16, steps=6, log_every=2, checkpoint_every=3)
    return updated(base, {**SMALL, **fields})


def weights(run: TrainedRun) -> torch.Tensor:
    return torch.cat([p.flatten() for p in run.model.state_dict().values()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return train(spec(), out=tmp_path / "run", progress=False).folder


@pytest.mark.parametrize("name", ["model.safetensors", "training.safetensors", "state.json", "SHA256SUMS"])
def test_no_damage_to_a_checkpoint_goes_unnoticed(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = checkpoints(folder)[0] / name
    system = spec().fit_to_shape((1, 64, 64), None).build((1, 64, 64))
    optimizer = make_optimizer(system, spec(), torch.device("cpu"))
    for what, content in damages(path.read_bytes(), 50, seed=1):
        path.write_bytes(content)
        assert restore(folder, system, optimizer) == 3, what
        assert "step-000000003 is read instead" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.safetensors", "state.json"])
def test_a_finished_run_with_a_damaged_end_is_trained_again_from_the_older_checkpoint(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = weights(TrainedRun.load(folder))
    flip(checkpoints(folder)[0] / name, -5)
    assert TrainedRun.load(folder).steps == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"hatchel train {folder} --resume" in said
    with pytest.raises(HatchelError, match=r"unfinished run \(3 of 6 steps\); add --resume"):
        train(spec(), out=folder, progress=False)
    again = resume_run(folder, progress=False)
    assert torch.equal(weights(again), whole)
    assert torch.equal(weights(TrainedRun.load(folder)), whole)
    capsys.readouterr()
    for place in checkpoints(folder):
        flip(place / "model.safetensors", -5)
    with pytest.raises(HatchelError, match=r"no other checkpoint can be read; .* --resume"):
        TrainedRun.load(folder)
    assert torch.equal(weights(resume_run(folder, progress=False)), whole)
    assert "the training starts over" in capsys.readouterr().err


def test_a_damaged_config_has_a_copy_and_the_remedy_works(folder: Path) -> None:
    flip(folder / "config.json", 40)
    with pytest.raises(HatchelError, match="a copy of it is restored by: cp ") as error:
        TrainedRun.load(folder)
    subprocess.run(str(error.value).rpartition("restored by: ")[2].split(), check=True)
    assert TrainedRun.load(folder).steps == 6


def test_a_bad_line_costs_that_line(folder: Path) -> None:
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], b"\xff" + lines[1][1:], lines[2], b'{"loss": 1}', b"[]", b'{"step']))
    assert [e["step"] for e in read_events(folder)] == [2, 6]
    assert bad_lines(folder) == 4
    resume_run(folder, progress=False, changes={"steps": 8})
    assert [e["step"] for e in read_events(folder)] == [2, 6, 8]
    assert bad_lines(folder) == 0


def test_float16_resumes_bit_for_bit(tmp_path: Path) -> None:
    """The scale starts at 2^16 and is halved whenever a gradient overflows: it is part of what a step computes."""
    half = spec(precision="float16", steps=8, checkpoint_every=4, **{"optimizer.eps": 1e-4})
    whole = train(half, out=tmp_path / "whole", progress=False)
    train(half.with_fields(steps=4), out=tmp_path / "parts", progress=False)
    kept = checkpoints(tmp_path / "parts")[0] / "state.json"
    state = read_json(kept)
    assert state["scaler"]["scale"] < 65536
    parts = train(half, out=tmp_path / "parts", resume=True, progress=False)
    assert torch.equal(weights(parts), weights(whole))
    assert (
        read_json(checkpoints(parts.folder)[0] / "state.json")["scaler"]
        == read_json(checkpoints(whole.folder)[0] / "state.json")["scaler"]
    )


def test_other_threads_or_processes_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resume_run(folder, progress=False, changes={"steps": 7})
    assert capsys.readouterr().err == ""
    before = torch.get_num_threads()
    try:
        resume_run(folder, progress=False, changes={"steps": 8, "threads": before + 1})
    finally:
        torch.set_num_threads(before)
    words = f"threads {before} before, {before + 1} now: results may differ in the last digits"
    assert capsys.readouterr().err == f"hatchel: {folder}: {words}\n"


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    system = spec().fit_to_shape((1, 64, 64), None).build((1, 64, 64))
    save(tmp_path, 1, system, None)
    with torch.no_grad():
        next(system.parameters()).view(-1)[0] = float("inf")
    with pytest.raises(HatchelError, match=r"diverged by step 2: .* is not finite.* checkpoint is .*step-000000001"):
        save(tmp_path, 2, system, None)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000001"]


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    write_json(tmp_path / "plain.json", {"method": "beta_vae", "data": "xy_squares", "batch_size": 16}, sealed=False)
    small = ["encoder=mlp", "encoder.hidden=[8]", "decoder=mlp_decoder", "decoder.hidden=[8]", "log_every=1"]
    command = [sys.executable, "-m", "hatchel", "train", str(tmp_path / "plain.json"), *small, "steps=1000000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    first = subprocess.Popen([*command, "--out", str(out), "-q"], env=environment)
    try:
        while not read_events(out):
            assert first.poll() is None
        more = ["seed=1", "--force", "--out", str(out), "-q"]
        second = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert f"process {first.pid} on " in second.stderr
        assert second.stderr.count("\n") == 1
        with pytest.raises(HatchelError, match=f"process {first.pid} on .* is training into it; wait for it"):
            resume_run(out, progress=False)
        assert json.loads((out / "config.json").read_text())["spec"]["seed"] == 0
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()


def test_a_run_that_is_refused_or_diverges_is_not_in_the_way_of_its_remedy(tmp_path: Path) -> None:
    lonely = updated(resolve("beta_tcvae", "xy_squares").with_fields(batch_size=1, steps=2), SMALL)
    with pytest.raises(HatchelError, match="set batch_size=64"):
        train(lonely, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(HatchelError, match="set batch_size=64"):
        train(lonely, out=tmp_path / "mine", progress=False)
    assert (tmp_path / "mine").is_dir()  # it was there before
    train(lonely.with_fields(batch_size=64), out=tmp_path / "mine", progress=False)
    with pytest.raises(HatchelError, match=r"there is no checkpoint yet. Try a smaller optimizer.lr"):
        train(spec(**{"optimizer.lr": 1e30}), out=tmp_path / "run", progress=False)
    assert train(spec(**{"optimizer.lr": 1e-4}), out=tmp_path / "run", progress=False).steps == 6


def test_force_removes_a_runs_checkpoints_and_nothing_else(folder: Path) -> None:
    mine = folder.with_name("mine")
    (mine / "checkpoints" / "step-last").mkdir(parents=True)
    (mine / "checkpoints" / "step-last" / "weights").write_text("precious")
    with pytest.raises(HatchelError, match="holds other things, and no run; choose another folder with --out"):
        train(spec(), out=mine, progress=False)
    train(spec(), out=mine, force=True, progress=False)
    assert (mine / "checkpoints" / "step-last" / "weights").read_text() == "precious"
    assert train(spec(seed=1, steps=4), out=mine, force=True, progress=False).steps == 4
    assert [place.name for place in checkpoints(mine)] == ["step-000000004", "step-000000003"]
