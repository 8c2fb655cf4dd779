"""Cells as tasks of Ray, started here or reached at an address."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hatchel.study.engines.here import Here
from hatchel.study.engines.ray import Ray
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.worker import CRASHES
from tests.study import session
from tests.study.engines import same
from tests.study.toy import Toy, answers, computed, free_port, plugin, wait_for

PROGRAM = str(Path(sys.executable).with_name("ray"))


def test_the_records_are_those_of_this_process(tmp_path: Path) -> None:
    cells = same.cells(tmp_path)
    assert same.records(Ray(workers=2), tmp_path, cells) == same.records(Here(), tmp_path, cells)


def test_a_cell_that_kills_its_worker_is_given_up(tmp_path: Path) -> None:
    log, store = tmp_path / "log", Store(tmp_path / "store")
    cells = [Toy(seed=i, log=str(log), act=act) for i, act in enumerate(("die", "compute"))]
    tally = run_tasks(cells, store, Ray(workers=1), plugins=[plugin(tmp_path)])
    assert (tally.done, tally.failed) == (1, 1)
    assert store.error(cells[0].digest()).startswith(f"its worker died {CRASHES} times")
    assert Counter(computed(log)) == {0: CRASHES, 1: 1}


@pytest.fixture(params=["open", "with a token"])
def head(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of a process of our own: `ray stop` would end every Ray of this machine.

    In a home of its own: a head asks for a token if its user has one.
    """
    for name in [n for n in os.environ if n.startswith("RAY_AUTH")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    if request.param != "open":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("5" * 64)
    port, client = free_port(), free_port()
    words = ["--head", f"--port={port}", f"--ray-client-server-port={client}", "--num-cpus=1", "--disable-usage-stats"]
    command = [PROGRAM, "start", "--block", *words, "--include-dashboard=false"]
    with (tmp_path / "ray.log").open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_for(lambda: process.poll() is not None or answers(client))
            yield f"127.0.0.1:{client}"
        finally:
            process.terminate()


def test_a_cluster_at_an_address(head: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    cells = [Toy(seed=i, log=str(log)) for i in range(3)]
    # In a process of its own, as a user's: Ray reads once how it is to prove itself.
    process = session.start(tmp_path / "store", f"ray://{head}", cells, plugin(tmp_path))
    found = session.tally(process)
    assert (found["done"], found["failed"]) == (3, 0)
    assert Counter(computed(log)) == {0: 1, 1: 1, 2: 1}
