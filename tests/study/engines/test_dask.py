"""A Dask cluster that outlives the study, and one whose worker dies."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dask.config
import pytest
from distributed import LocalCluster

from hatchel.core.errors import HatchelError
from hatchel.study.engines.dask import CALM, Dask
from hatchel.study.runner import Tally, run_tasks
from hatchel.study.store import Store
from hatchel.study.worker import CRASHES
from tests.study.toy import Toy, answers, computed, free_port, plugin, wait_for


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster:
        yield cluster


def test_a_task_that_kills_its_worker_is_given_up_on_a_cluster_at_an_address(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    log, store = tmp_path / "log", Store(tmp_path / "store")
    cells = [Toy(seed=i, log=str(log), act=act) for i, act in enumerate(("die", "compute", "raise"))]
    engine = Dask(address=cluster.scheduler_address.removeprefix("tcp://"))
    for again in range(2):  # the cluster is still there for the second
        tally = run_tasks(cells, store, engine, plugins=[plugin(tmp_path)])
        assert (tally.done, tally.failed, tally.skipped) == (1, 2, 3 * again)
    assert store.error(cells[0].digest()).startswith(f"its worker died {CRASHES} times")
    assert Counter(computed(log)) == {0: CRASHES, 1: 1, 2: 1}


def test_a_cluster_of_its_own_watches_nobody_and_leaves_the_users_settings() -> None:
    before = {name: dask.config.get(name) for name in CALM}
    with Dask(workers=1).open() as pool:
        assert {name: dask.config.get(name) for name in CALM} == before
        assert {name: pool.submit(dask.config.get, name).result() for name in CALM} == CALM
    assert not before.items() & CALM.items()


def test_a_scheduler_that_goes_away_ends_the_study_with_one_line(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as scheduler:

        def on_progress(tally: Tally) -> None:
            heard.append(tally.done)
            if len(heard) == 2:  # the cells are handed out
                scheduler.kill()

        heard: list[int] = []
        try:
            wait_for(lambda: answers(port))
            cells = [Toy(seed=0, log=str(tmp_path / "log"))]
            with pytest.raises(HatchelError, match=rf"engine dask: nothing answers at 127.0.0.1:{port} "):
                run_tasks(cells, Store(tmp_path / "store"), Dask(address=f"127.0.0.1:{port}"), on_progress=on_progress)
        finally:
            scheduler.kill()
    assert len(heard) >= 2
