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
    fields = {"batch_size": 16, "steps": 5, "optimizer.lr": 1e-3, "objective.tc.term.by.hidden": 32}
    spec = updated(resolve("factor_vae", "xy_squares"), fields)
    one = train(spec, out=tmp_path / "one", progress=False)
    words = [f"{k}={v}" for k, v in fields.items()]
    two = tmp_path / "two"
    torchrun("-m", "hatchel", "train", "factor_vae", "data=xy_squares", *words, "--out", str(two), "--quiet")
    for (name, a), b in zip(
        one.model.state_dict().items(), TrainedRun.load(two).model.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=2e-5, msg=lambda m, n=name: f"{n}: {m}")
