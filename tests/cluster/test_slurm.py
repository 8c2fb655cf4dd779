"""Tasks as jobs of a real Slurm, and a data-parallel training run in one."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.methods.resolve import resolve
from hatchel.study.engines import slurm as engine_module
from hatchel.study.engines.local import Here
from hatchel.study.engines.slurm import Slurm
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.worker import CRASHES
from hatchel.training.run import TrainedRun, train
from tests.cluster.own_slurm import said
from tests.study import session
from tests.study.engines import same
from tests.study.toy import Toy, computed, plugin, wait_for


def engine(folder: Path, **fields: object) -> Slurm:
    return Slurm(folder=str(folder / "jobs"), memory=1, minutes=5).with_fields(**fields)


@pytest.mark.usefixtures("slurm")
def test_the_records_are_those_of_this_process(tmp_path: Path) -> None:
    cells = same.cells(tmp_path)
    assert same.records(engine(tmp_path), tmp_path, cells) == same.records(Here(), tmp_path, cells)
    arrays = {path.name.partition("_")[0] for path in (tmp_path / "jobs").glob("*_submitted.pkl")}
    assert len(arrays) == 1  # one array job for all


@pytest.mark.usefixtures("slurm")
def test_a_task_that_kills_its_job_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "GRACE", 3.0)
    log, store = tmp_path / "log", Store(tmp_path / "store")
    cells = [Toy(seed=i, log=str(log), act=act) for i, act in enumerate(("die", "compute"))]
    tally = run_tasks(cells, store, engine(tmp_path), plugins=[plugin(tmp_path)])
    assert (tally.done, tally.failed) == (1, 1)
    assert store.error(cells[0].digest()).startswith(f"its worker died {CRASHES} times")
    assert Counter(computed(log)) == {0: CRASHES, 1: 1}


@pytest.mark.usefixtures("slurm")
def test_a_job_whose_time_is_up_is_queued_again_and_one_that_nobody_waits_for_is_cantasked(tmp_path: Path) -> None:
    log, gate, store = tmp_path / "log", tmp_path / "gate", Store(tmp_path / "store")
    cells = [Toy(seed=0, log=str(log), gate=str(gate))]
    words = {"kind": "slurm", "folder": str(tmp_path / "jobs"), "minutes": 5, "memory": 1}
    runner = session.start(store.folder, words, cells, plugin(tmp_path))
    try:
        wait_for(lambda: len(computed(log)) == 1)
        subprocess.run(["scancel", "--signal=USR2", *said("squeue", "-h", "--array", "-o", "%i").split()], check=True)
        wait_for(lambda: len(computed(log)) == 2)
        runner.send_signal(2)
        runner.communicate(timeout=120)
        wait_for(lambda: not said("squeue", "-h").strip())
    finally:
        runner.kill()
    assert store.status(cells[0].digest()) == "waiting"
    gate.touch()
    assert run_tasks(cells, store, engine(tmp_path), plugins=[plugin(tmp_path)]).done == 1


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(("field", "value", "word"), [("partition", "nowhere", "partition"), ("gpus", 1, "gres")])
def test_what_sbatch_refuses_is_said(field: str, value: object, word: str, tmp_path: Path) -> None:
    cells = [Toy(seed=0, log=str(tmp_path / "log"))]
    with pytest.raises(HatchelError, match=rf"engine slurm: sbatch refused \(.*{word}"):
        run_tasks(cells, Store(tmp_path / "store"), engine(tmp_path, **{field: value}))


@pytest.mark.usefixtures("slurm")
def test_two_processes_in_a_job_train_the_run_of_one(tmp_path: Path) -> None:
    fields = {"batch_size": 16, "steps": 5, "optimizer.lr": 1e-3, "objective.tc.term.by.hidden": 32, "threads": 1}
    one = train(resolve("factor_vae", "xy_squares", fields), out=tmp_path / "one", progress=False)
    words = ["factor_vae", "data=xy_squares", *(f"{k}={v}" for k, v in fields.items()), f"--out={tmp_path / 'two'}"]
    launch = f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 2 -m hatchel train"
    job = ["sbatch", "--wait", "--cpus-per-task=2", f"--output={tmp_path / 'job.log'}"]
    done = subprocess.run([*job, f"--wrap={launch} {' '.join(words)} --quiet"], capture_output=True, check=False)
    assert done.returncode == 0, (tmp_path / "job.log").read_text()[-3000:]
    two = TrainedRun.load(tmp_path / "two").model.state_dict()
    for name, value in one.model.state_dict().items():
        torch.testing.assert_close(two[name], value, rtol=0, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
