"""`hatchel train --seeds`: several seeds as one command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.cli.options import read_spec
from hatchel.training.run import TrainedRun, train
from tests.torture import called, flip


def test_each_seed_is_the_run_it_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).integers(0, 255, (80, 16, 16, 1), dtype=np.uint8)
    np.save("images.npy", images)
    command = ["train", "beta_vae", "data=images.npy", "steps=3", "batch_size=16", "--seeds", "1,4", "--out", "both"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    assert "mean of 2 seeds" in result.stdout
    assert (tmp_path / "both/report/report.html").is_file()
    found = {run.spec.seed: run for run in map(TrainedRun.load, (p for p in Path("both/runs").iterdir() if p.is_dir()))}
    assert sorted(found) == [1, 4]
    alone = train(found[4].spec, out="alone", progress=False)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(weight, found[4].model.state_dict()[name]), name
    again = json.loads(CliRunner().invoke(app, [*command, "--json", "--quiet"], catch_exceptions=False).stdout)
    assert again["scores"]["reconstruction"]["seeds"] == 2
    assert (again["runs"], again["failed"]) == (str(Path("both/runs")), [])

    record = next(Path("both/cells").glob("*/record.json"))
    flip(record)
    code, _ = called("verify", "both")
    remedy = CliRunner().invoke(app, ["verify", "both"]).stdout.splitlines()[1]
    assert (code, remedy.split()[0]) == (1, "hatchel")
    CliRunner().invoke(app, shlex.split(remedy)[1:], catch_exceptions=False)
    assert called("verify", "both") == (0, "")


def test_seeds_do_not_go_into_a_run_and_tell_of_collapse(tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = ["vae", "data=xy_squares", "data.size=8", "encoder=mlp", "decoder=mlp_decoder", "steps=1", "batch_size=8"]
    run = train(read_spec(small[0], small[1:]), out=out, progress=False)
    code, said = called("train", *small, "--seeds", "0", "--out", str(out))
    assert code == 2
    assert f"holds a run; name another folder for the seeds, such as {out}-seeds" in said
    assert TrainedRun.load(out).spec == run.spec
    code, said = called(
        "train", *small, "latent.dim=1", "--seeds", "7", "--out", f"{out}-seeds", "-q", "--workers", "1"
    )
    assert code == 0, said
    assert "hatchel: seed 7: 0 of 1 dimensions active: train longer or lower beta\n" in said


@pytest.mark.parametrize("text", ["3..1", "a", "1,1", "", "0..99999999999999"])
def test_seeds_that_are_none(text: str) -> None:
    result = CliRunner().invoke(app, ["train", "beta_vae", "--seeds", text])
    assert result.exit_code != 0
    assert "--seeds" in str(result.exception)
