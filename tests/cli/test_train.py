"""`hatchel train --seeds`: several seeds as one command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.training.run import TrainedRun, train


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


@pytest.mark.parametrize("text", ["3..1", "a", "1,1", ""])
def test_seeds_that_are_none(text: str) -> None:
    result = CliRunner().invoke(app, ["train", "beta_vae", "--seeds", text])
    assert result.exit_code != 0
    assert "--seeds" in str(result.exception)
