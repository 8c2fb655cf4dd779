"""What a study survives, with real processes that are really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.methods.resolve import resolve
from hatchel.study import runner
from hatchel.study.engines.local import Here, Local
from hatchel.study.engines.slurm import Slurm
from hatchel.study.grid import metrics
from hatchel.study.runner import Tally, run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Task
from hatchel.study.trained import Trained
from hatchel.study.worker import CRASHES, Outcome, perform_several
from tests.study import session
from tests.study.toy import Toy, alive, computed, plugin, processes, wait_for


def table(store: Store) -> dict[str, Any]:
    """Everything in the records that must not depend on how they came about."""
    records = [store.record(digest) for digest in store.digests()]
    return {r["digest"]: (r["cell"], r["values"], r["details"]) for r in records}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def undisturbed(folder: Path, cells: list[Any]) -> dict[str, Any]:
    """The table of the same tasks computed in peace."""
    other = Store(folder / "undisturbed")
    assert run_tasks(cells, other, Here()).done == len(cells)
    return table(other)


def end(*runners: subprocess.Popen[str]) -> None:
    for process in runners:
        process.kill()
        process.communicate()


class TestInThisProcess:
    def test_equal_tasks_are_computed_once_and_done_ones_never_again(self, store: Store, log: Path) -> None:
        cells = [Toy(seed=seed, log=str(log)) for seed in (0, 1, 0)]
        found = run_tasks(cells, store, Here())
        assert (found.total, found.done, found.failed, found.skipped, found.finished) == (2, 2, 0, 0, 2)
        again = run_tasks([*cells, Toy(seed=2, log=str(log))], store, Here())
        assert (again.total, again.done, again.skipped, again.finished) == (3, 3, 2, 1)
        assert computed(log) == [0, 1, 2]

    def test_a_failed_task_does_not_stop_the_others_and_is_retried_only_on_request(
        self, store: Store, log: Path
    ) -> None:
        cells = [Toy(seed=0, log=str(log), act="raise"), Toy(seed=1, log=str(log))]
        for retry, expected in ((False, [0, 1]), (False, [0, 1]), (True, [0, 1, 0])):
            found = run_tasks(cells, store, Here(), retry=retry)
            assert (found.done, found.failed) == (1, 1)
            assert computed(log) == expected
        assert store.error(cells[0].digest()) == "ZeroDivisionError: one over nothing"

    def test_progress_is_told_task_by_task(self, store: Store, log: Path) -> None:
        heard: list[tuple[int, int, bool]] = []

        def on_progress(tally: Tally) -> None:
            heard.append((tally.done, tally.failed, tally.remaining is None))

        acts = ("compute", "raise", "compute")
        run_tasks(
            [Toy(seed=i, log=str(log), act=a) for i, a in enumerate(acts)], store, Here(), on_progress=on_progress
        )
        assert list(dict.fromkeys(heard)) == [(0, 0, True), (1, 0, False), (1, 1, False), (2, 1, False)]

    def test_short_tasks_are_handed_out_together_and_what_is_left_again(
        self, store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sizes: list[int] = []

        def hurried(folder: str, bodies: list[Any], *rest: Any) -> list[Outcome]:
            sizes.append(len(bodies))
            return perform_several(folder, bodies[:2], *rest)

        monkeypatch.setattr("hatchel.study.runner.perform_several", hurried)
        assert run_tasks([Toy(seed=seed, log=str(log)) for seed in range(40)], store, Here()).done == 40
        assert sorted(computed(log)) == list(range(40))
        assert (sizes[0], sizes[-1]) == (1, 1)  # nothing is known yet; too few for all workers
        assert max(sizes) > 1

    def test_time_to_go_is_the_pace_of_this_session(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("time.monotonic", lambda: 130.0)
        tally = Tally(total=10, done=5, failed=1, skipped=3, began=100.0)
        assert tally.remaining == pytest.approx(30 / 3 * 4)

    def test_a_full_disk_is_one_line_and_what_was_done_stays(self, store: Store, log: Path) -> None:
        cells = [Toy(seed=0, log=str(log)), Toy(seed=1, log=str(log), act="fill the disk")]
        with pytest.raises(HatchelError, match=r"^[^\n]*No space left on device; free some space and run .* again$"):
            run_tasks([*cells, Toy(seed=2, log=str(log))], store, Here())
        assert table(store).keys() == {cells[0].digest()}
        assert store.status(cells[1].digest()) == "waiting"

    def test_a_worker_of_another_version_is_noticed(
        self, store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cell, other = Toy(seed=0, log=str(log)), Toy(seed=1, log=str(log))
        monkeypatch.setattr("hatchel.study.runner.to_dict", lambda _: {"kind": "toy", "seed": 1, "log": other.log})
        with pytest.raises(HatchelError, match="another version"):
            run_tasks([cell], store, Here())


class TestHandedOut:
    """To one worker, which says it is done, and how long that took."""

    @pytest.fixture
    def sizes(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Of the messages; that workers have not begun in time ends nothing here."""
        sizes: list[int] = []

        class Counted(ThreadPoolExecutor):
            def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
                sizes.append(len(args[1]))
                return super().submit(fn, *args, **kwargs)

        monkeypatch.setattr(Local, "open", lambda self: Counted(1))
        monkeypatch.setattr(Local, "begins", float("inf"))
        return sizes

    def claim(self, monkeypatch: pytest.MonkeyPatch, seconds: Callable[[int], float | None]) -> None:
        """Of the n-th task."""
        told = list[str]()

        def perform(folder: str, bodies: list[Any], *rest: Any) -> list[Outcome]:
            found = list[Outcome]()
            for body in bodies:
                found.append(Outcome(from_dict(Task, body).digest(), "done", seconds=seconds(len(told))))
                told.append(found[-1].digest)
            return found

        monkeypatch.setattr(runner, "perform_several", perform)

    @pytest.mark.parametrize("start", [[None], [None, 0.5], [0.5, None, 0.15]], ids=str)
    def test_short_tasks_together_whatever_the_first_ones_took(
        self, store: Store, start: list[float | None], sizes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A worker's first task imports libraries, and any may be held up by what else the machine does."""
        self.claim(monkeypatch, lambda n: start[n] if n < len(start) else 0.0125)
        assert run_tasks([Toy(seed=seed, log="") for seed in range(1000)], store, Local(workers=1)).done == 1000
        assert sum(sizes) == 1000
        # 64 one by one; 16 fill Local.brief, but the last are shared out; a few more after a start that misleads.
        assert runner.FIRST + (1000 - runner.FIRST) / 16 < len(sizes) < 170

    def test_few_messages_where_each_is_a_job_that_takes_long_to_start(
        self, store: Store, sizes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each is a process of its own, whose first task imports and tells nothing."""
        for name in ("brief", "first", "ahead"):
            monkeypatch.setattr(Local, name, getattr(Slurm, name))
        told = list[str]()

        def perform(folder: str, bodies: list[Any], *rest: Any) -> list[Outcome]:
            told.extend(from_dict(Task, body).digest() for body in bodies)
            return [Outcome(d, "done", seconds=0.01 if i else None) for i, d in enumerate(told[-len(bodies) :])]

        monkeypatch.setattr(runner, "perform_several", perform)
        assert run_tasks([Toy(seed=seed, log="") for seed in range(1000)], store, Local(workers=2)).done == 1000
        assert sum(sizes) == len({*told}) == 1000
        assert sizes[0] == 2
        assert len(sizes) < 35  # up to 64 in one, and the last shared out as long as it pays

    def test_few_tasks_are_jobs_of_their_own_where_there_are_slots_for_all(
        self, store: Store, sizes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They may be long: the second of a job would wait for the first while slots are free."""
        for name in ("brief", "first", "ahead"):
            monkeypatch.setattr(Local, name, getattr(Slurm, name))
        self.claim(monkeypatch, lambda n: None)
        assert run_tasks([Toy(seed=seed, log="") for seed in range(10)], store, Local(workers=256)).done == 10
        assert sizes == [1] * 10

    def test_long_tasks_all_at_once(self, store: Store, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        """Before the first ones of them are done, because clusters grow by what is waiting."""
        out = threading.Event()

        def seconds(n: int) -> float:
            if n == runner.TOLD:
                wait_for(lambda: len(sizes) == 200, 60)
                out.set()
            return 5.0

        self.claim(monkeypatch, seconds)
        assert run_tasks([Toy(seed=seed, log="") for seed in range(200)], store, Local(workers=1)).done == 200
        assert out.is_set()
        assert sizes == [1] * 200


class TestKilled:
    def test_a_task_that_kills_its_worker_is_given_up_and_the_rest_goes_on(
        self, store: Store, log: Path, tmp_path: Path
    ) -> None:
        acts = ("die", "compute", "compute")
        cells = [Toy(seed=i, log=str(log), act=act) for i, act in enumerate(acts)]
        found = run_tasks(cells, store, Local(workers=1), plugins=[plugin(tmp_path)])
        assert (found.done, found.failed) == (2, 1)
        assert store.error(cells[0].digest()).startswith(f"its worker died {CRASHES} times")
        assert Counter(computed(log)) == {0: CRASHES, 1: 1, 2: 1}
        assert table(store) == undisturbed(tmp_path, cells[1:])

    def test_the_worker(self, store: Store, log: Path, gate: Path, tmp_path: Path) -> None:
        cells = [Toy(seed=seed, log=str(log), gate=str(gate)) for seed in range(4)]

        def on_progress(tally: Tally) -> None:
            begun = processes(log)
            if len(begun) == 2 and tally.running == 2 and not killed:
                killed.append(begun[0])
                os.kill(begun[0], signal.SIGKILL)
            elif len(begun) == 4:  # both cells begun again, in new processes
                gate.touch()

        killed: list[int] = []
        assert run_tasks(cells, store, Local(workers=2), plugins=[plugin(tmp_path)], on_progress=on_progress).done == 4
        # The neighbour was asked to end, which is no crash of its own.
        assert Counter(computed(log)) == {0: 2, 1: 2, 2: 1, 3: 1}
        assert table(store) == undisturbed(tmp_path, cells)

    def test_the_runner(self, store: Store, log: Path, gate: Path, tmp_path: Path) -> None:
        cells = [Toy(seed=seed, log=str(log), gate=str(gate) if seed == 2 else "") for seed in range(4)]
        runner = session.start(store.folder, {"kind": "local", "workers": 1}, cells, plugin(tmp_path))
        try:
            wait_for(lambda: len(processes(log)) == 3)
            runner.kill()
            wait_for(lambda: not alive(processes(log)[2]))  # a worker does not outlive its runner
        finally:
            end(runner)
        assert len(table(store)) == 2
        gate.touch()
        found = run_tasks(cells, store, Here())
        assert (found.done, found.skipped) == (4, 2)
        assert Counter(computed(log)) == {0: 1, 1: 1, 2: 2, 3: 1}
        assert table(store) == undisturbed(tmp_path, cells)

    def test_interrupted_training_is_saved_and_goes_on_to_the_same_record(self, store: Store, tmp_path: Path) -> None:
        net = {"encoder": {"kind": "mlp", "hidden": [8]}, "decoder": {"kind": "mlp_decoder", "hidden": [8]}}
        fields = {"steps": 600, "batch_size": 16, "data.size": 8, "latent.dim": 2, "checkpoint_every": 40, **net}
        spec = resolve("beta_vae", "xy_squares", fields)
        cell = Trained(seed=1, run=spec, metrics=metrics("mig", "reconstruction"), items=64)
        runner = session.start(store.folder, {"kind": "local", "workers": 1}, [cell], plugin(tmp_path))
        try:
            wait_for(lambda: any(store.runs.glob("*/checkpoints/step-*")))
            runner.send_signal(signal.SIGINT)
            _, err = runner.communicate(timeout=120)
        finally:
            end(runner)
        assert runner.returncode != 0
        assert "KeyboardInterrupt" in err
        assert store.status(cell.digest()) == "waiting"
        assert not store.attempt(cell.digest()).exists()
        steps = [int(p.name.partition("-")[2]) for p in store.runs.glob("*/checkpoints/step-*")]
        assert 0 < max(steps) < 600
        assert run_tasks([cell], store, Here()).done == 1
        (found,), (expected,) = table(store).values(), undisturbed(tmp_path, [cell]).values()
        # A point of the training curve is a mean since the one before, or since training went on: one may differ.
        for details in (found[2], expected[2]):
            details.pop("training")
        assert found == expected


class TestTwoRunners:
    """One in this process, one in another."""

    def test_each_task_is_computed_by_one_of_them(self, store: Store, log: Path, gate: Path, tmp_path: Path) -> None:
        cells = [Toy(seed=seed, log=str(log), gate=str(gate)) for seed in range(6)]
        other = session.start(store.folder, "here", cells, plugin(tmp_path))

        def on_progress(tally: Tally) -> None:
            if len(set(processes(log))) == 2:  # both are at it
                gate.touch()

        try:
            found = run_tasks(cells, store, Local(workers=1), plugins=[plugin(tmp_path)], on_progress=on_progress)
            assert (found.done, session.tally(other)["done"]) == (6, 6)
        finally:
            end(other)
        assert Counter(computed(log)) == Counter(range(6))
        assert table(store) == undisturbed(tmp_path, cells)

    def test_what_a_killed_one_held_is_taken_over(self, store: Store, log: Path, gate: Path, tmp_path: Path) -> None:
        cells = [Toy(seed=0, log=str(log), gate=str(gate))]
        other = session.start(store.folder, "here", cells, plugin(tmp_path))

        def on_progress(tally: Tally) -> None:
            heard.append(tally.running)
            if len(heard) == 3:  # handed out, found to be elsewhere
                gate.touch()
                other.kill()

        heard: list[int] = []
        try:
            wait_for(lambda: len(processes(log)) == 1)
            assert run_tasks(cells, store, Here(), on_progress=on_progress).done == 1
        finally:
            end(other)
        assert heard[:3] == [1, 1, 1]
        assert table(store) == undisturbed(tmp_path, cells)
