"""Two processes give the value and the gradient of one, for every estimator; so a run of two is the run of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.training.checkpoint import checkpoints
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun, train
from tests.training import ddp_worker

ROOT = Path(__file__).parents[2]


def torchrun(*arguments: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    path = tmp_path_factory.mktemp("ddp") / "two.safetensors"
    torchrun(str(ROOT / "tests" / "training" / "ddp_worker.py"), str(path))
    return load_file(path)


@pytest.mark.parametrize("name", ddp_worker.cases())
def test_two_processes_equal_one(name: str, two_processes: dict[str, torch.Tensor]) -> None:
    one = ddp_worker.measure(*ddp_worker.cases()[name])
    for key, value in one.items():
        torch.testing.assert_close(two_processes[f"{name}/{key}"], value, rtol=1e-4, atol=1e-5)


def test_a_run_trained_by_two_processes_is_the_run_of_one(tmp_path: Path) -> None:
    """With further updates of the critic, and with what its events read."""
    fields = {
        "batch_size": 32,
        "steps": 4,
        "optimizer.lr": 1e-3,
        "critic_updates": 3,
        "objective.tc.term.by.hidden": 32,
        "log_every": 4,
    }
    spec = updated(resolve("factor_vae", "xy_squares"), fields)
    train(spec, out=tmp_path / "one", progress=False)
    words = [f"{k}={v}" for k, v in fields.items()]
    two = tmp_path / "two"
    torchrun("-m", "hatchel", "train", "factor_vae", "data=xy_squares", *words, "--out", str(two), "--quiet")
    a, b = (load_file(checkpoints(tmp_path / name)[0] / "model.safetensors") for name in ("one", "two"))
    assert any(not name.startswith("model") for name in a)
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=1e-3, atol=2e-5, msg=lambda m, n=name: f"{n}: {m}")
    first, second = (read_events(tmp_path / name)[-1] for name in ("one", "two"))
    for key in ("reading/tc", "independent/tc"):
        assert second[key] == pytest.approx(first[key], rel=1e-3, abs=1e-4)
    TrainedRun.load(two)
