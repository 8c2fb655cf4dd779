from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.files import claimed, write_json
from hatchel.core.spec import to_dict
from hatchel.study.engines.local import Local
from hatchel.study.store import Store
from hatchel.study.task import Result, Workspace
from hatchel.study.worker import CRASHES, Outcome, perform, perform_several
from hatchel.training.loop import Stopped
from tests.study.toy import Toy, computed


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store").create()


def toy(store: Store, act: Any = "compute") -> Toy:
    return Toy(seed=2, log=str(store.folder.parent / "log"), act=act)


def outcome(store: Store, cell: Toy) -> Outcome:
    return perform(str(store.folder), to_dict(cell))


def times(store: Store) -> int:
    return len(computed(store.folder.parent / "log"))


def test_a_task_is_computed_once_and_its_record_kept(store: Store) -> None:
    cell = toy(store)
    assert outcome(store, cell) == outcome(store, cell) == Outcome(cell.digest(), "done")
    assert times(store) == 1
    record = store.record(cell.digest())
    assert record["values"] == {"root": math.sqrt(2) / 3, "seed": 2}
    assert record["details"] == {"curve": [[0, math.sqrt(2) / 3]]}
    assert sorted(p.name for p in store.folder_of(cell.digest()).iterdir()) == ["lock", "record.json"]


def test_a_task_that_raises_is_recorded_with_its_error_and_not_computed_again(store: Store) -> None:
    cell = toy(store, "raise")
    message = "ZeroDivisionError: one over nothing"
    assert outcome(store, cell) == outcome(store, cell) == Outcome(cell.digest(), "failed", message)
    assert times(store) == 1
    assert "toy.py" in (store.folder_of(cell.digest()) / "error.json").read_text()


def test_a_record_with_nan_is_a_failure_that_names_the_value(store: Store) -> None:
    assert outcome(store, toy(store, "not a number")).message.startswith("root is nan")


def test_a_task_that_another_process_is_at_is_left_to_it(store: Store) -> None:
    cell = toy(store)
    with claimed(store.lock(cell.digest())):
        assert outcome(store, cell) == Outcome(cell.digest(), "elsewhere")
    assert times(store) == 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_full_disk_is_not_the_tasks_fault(store: Store, wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = toy(store, "compute" if wrapped else "fill the disk")
    if wrapped:  # as checkpoints say it

        def compute(self: Toy, workspace: Workspace) -> Result:
            raise HatchelError("step-5: cannot be written (No space left on device); there is no checkpoint yet")

        monkeypatch.setattr(Toy, "compute", compute)
    found = outcome(store, cell)
    assert (found.status, found.message.count("\n")) == ("full", 0)
    assert "No space left on device; free some" in found.message
    assert [p.name for p in store.folder_of(cell.digest()).iterdir()] == ["lock"]
    monkeypatch.undo()
    assert outcome(store, toy(store)).status == "done"


def test_a_task_that_killed_its_worker_too_often_is_given_up(store: Store) -> None:
    cell = toy(store)
    for died in range(CRASHES):
        store.forget(cell.digest())
        store.folder_of(cell.digest()).mkdir(parents=True, exist_ok=True)
        write_json(store.attempt(cell.digest()), {"died": died})  # left by a process that was killed
        last = died == CRASHES - 1
        found = outcome(store, cell)
        assert found.status == ("failed" if last else "done")
        assert not store.attempt(cell.digest()).exists()
        if not last:
            (store.folder_of(cell.digest()) / "record.json").unlink()
    assert store.error(cell.digest()).startswith(f"its worker died {CRASHES} times")
    assert times(store) == CRASHES - 1


def test_the_note_of_an_attempt_becomes_the_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cell, notes = toy(store), list[int]()

    def compute(self: Toy, workspace: Workspace) -> Result:
        notes.append(store.attempt(cell.digest()).stat().st_ino)
        return Result({"one": 1.0})

    monkeypatch.setattr(Toy, "compute", compute)
    assert outcome(store, cell).status == "done"
    assert notes == [(store.folder_of(cell.digest()) / "record.json").stat().st_ino]


def test_a_worker_killed_before_its_record_had_its_name_has_died_once(store: Store) -> None:
    cell = toy(store)
    assert outcome(store, cell).status == "done"
    record, note = store.folder_of(cell.digest()) / "record.json", store.attempt(cell.digest())
    whole = record.read_bytes()
    for content in (whole, whole[: len(whole) // 2], b""):
        record.unlink()
        note.write_bytes(content)
        assert store.status(cell.digest()) == "waiting"
        assert outcome(store, cell).status == "done"
        assert store.record(cell.digest())["values"] == {"root": math.sqrt(2) / 3, "seed": 2}
    assert times(store) == 4


def test_what_had_to_import_something_tells_no_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(self: Toy, workspace: Workspace) -> Result:
        if self.seed == 1:
            monkeypatch.setitem(sys.modules, "a_library_of_this_test", sys)
        return Result({})

    monkeypatch.setattr(Toy, "compute", compute)
    outcome(store, toy(store))  # loads what every task needs
    found = perform_several(str(store.folder), [to_dict(Toy(seed=seed, log="")) for seed in (0, 1, 3)], brief=60)
    assert [o.status for o in found] == ["done"] * 3
    assert [o.seconds is None for o in found] == [False, True, False]


def test_a_worker_goes_on_for_a_while_in_which_imports_do_not_count(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def compute(self: Toy, workspace: Workspace) -> Result:
        clock[0] += 5.0 if self.seed == 0 else 0.3
        if self.seed == 0:
            monkeypatch.setitem(sys.modules, "another_library_of_this_test", sys)
        return Result({})

    outcome(store, toy(store))
    monkeypatch.setattr(Toy, "compute", compute)
    monkeypatch.setattr("hatchel.study.worker.time.monotonic", lambda: clock[0])
    bodies = [to_dict(Toy(seed=seed, log="")) for seed in (0, 1, 3, 4, 5)]
    # 0.3 s a task: after the fourth 0.9 have passed.
    assert [o.seconds and round(o.seconds, 3) for o in perform_several(str(store.folder), bodies, brief=0.8)] == [
        None, 0.3, 0.3, 0.3,
    ]  # fmt: skip


@pytest.mark.parametrize("interruption", [Stopped("saved"), KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupted_task_has_neither_failed_nor_crashed(
    store: Store, interruption: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(self: Toy, workspace: Workspace) -> Result:
        raise interruption

    monkeypatch.setattr(Toy, "compute", compute)
    cell = toy(store)
    if isinstance(interruption, Stopped):
        assert outcome(store, cell) == Outcome(cell.digest(), "stopped", "saved")
    else:
        with pytest.raises(type(interruption)):
            outcome(store, cell)
    assert [p.name for p in store.folder_of(cell.digest()).iterdir()] == ["lock"]


def test_a_task_has_its_threads_and_the_process_its_own_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def compute(self: Toy, workspace: Workspace) -> Result:
        seen.extend([workspace.threads, torch.get_num_threads()])
        return Result({})

    monkeypatch.setattr(Toy, "compute", compute)
    before = torch.get_num_threads()
    perform(str(store.folder), to_dict(toy(store)), threads=before + 1)
    assert seen == [before + 1, before + 1]
    assert torch.get_num_threads() == before


def test_a_missing_plugin_is_the_users_mistake_not_the_tasks(store: Store) -> None:
    with pytest.raises(HatchelError, match="there is no such file"):
        perform(str(store.folder), to_dict(toy(store)), plugins=["/nowhere/plugin.py"])


def deaf(process: int) -> bool:
    """Whether Ctrl-C waits at a process."""
    (line,) = [s for s in Path(f"/proc/{process}/status").read_text().splitlines() if s.startswith("SigBlk:")]
    return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads what Linux says of a process")
def test_a_worker_hears_no_interrupt_until_it_can_answer() -> None:
    """Ctrl-C in a terminal reaches every process, also one that is still importing: it would print a traceback."""
    others = set(multiprocessing.active_children())
    with Local(workers=1).open() as pool:
        future = pool.submit(os.getpid)
        (worker,) = set(multiprocessing.active_children()) - others
        assert worker.pid is not None
        assert deaf(worker.pid)
        assert not deaf(os.getpid())
        assert future.result() == worker.pid
        assert not deaf(worker.pid)
