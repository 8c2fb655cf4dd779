"""What a study's runner costs beside its tasks: 1,000 tasks of 10 ms, on this machine's processes, Dask and Slurm.

    python benchmarks/runner.py [--tasks 1000] [--engines here local dask slurm]

One worker, so that a task's share of the time is the whole time divided by the tasks. A task says itself how long it
slept, because a busy machine wakes it late; the start of the engine, up to the first result, is not counted. Processor
time, of the runner and its workers, is that of many tasks less that of few, so that starting them drops out: other
work on the machine makes the passed time longer, and counts little into the processor's. No store is removed before
the end: ext4 makes new files more slowly for minutes after many were removed.

Slurm is a real one of one node with two slots, started here as its tests do (Debian; root or sudo): there the time from
the first submission to the last record counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from hatchel.core.plugins import load_file
from hatchel.study.engines.dask import Dask
from hatchel.study.engines.engine import Engine
from hatchel.study.engines.local import Here, Local
from hatchel.study.engines.slurm import Slurm
from hatchel.study.runner import Tally, run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Task

TARGET = 5.0
SLOTS = 2
NAP = '''
import time
from hatchel.study.task import Result, Task, Workspace

class Nap(Task):
    """Ten milliseconds."""

    def compute(self, workspace: Workspace) -> Result:
        began = time.perf_counter()
        time.sleep(0.01)
        return Result({"slept": time.perf_counter() - began})
'''
ENGINES: dict[str, Engine] = {"here": Here(), "local": Local(workers=1), "dask": Dask(workers=1)}


def overhead(engine: Engine, count: int, folder: Path) -> float:
    """Milliseconds a task, beside its own."""
    folder.mkdir()
    plugin = folder / "nap.py"
    plugin.write_text(NAP)
    load_file(plugin)
    tasks = [Task.members()["nap"](seed=seed) for seed in range(count)]
    store, first = Store(folder / "store"), list[tuple[float, int]]()

    def note(tally: Tally) -> None:
        if tally.done and not first:
            first.append((time.perf_counter(), tally.done))

    run_tasks(tasks, store, engine, plugins=[plugin], on_progress=note)
    seconds = (time.perf_counter() - first[0][0]) / (count - first[0][1])
    slept = statistics.mean(store.record(task.digest())["values"]["slept"] for task in tasks)
    return 1000 * (seconds - slept)


def processor(engine: Engine, count: int, folder: Path) -> tuple[float, float]:
    """Milliseconds a task that pass, and those of the processor."""

    def used() -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    began = used()
    overhead(engine, count // 10, folder / f"{engine.kind}-few")
    few = used()
    passed = overhead(engine, count, folder / f"{engine.kind}-many")
    many = used()
    return passed, 1000 * ((many - few) - (few - began)) / (count - count // 10)


def of_slurm(count: int, folder: Path) -> list[str]:
    """One row: a task's share of all passed time, and the jobs and the time of each."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.cluster.own_slurm import own_slurm

    for name in ("slurm", "nap"):
        (folder / name).mkdir()
    plugin = folder / "nap" / "nap.py"
    plugin.write_text(NAP)
    load_file(plugin)
    tasks = [Task.members()["nap"](seed=seed) for seed in range(count)]
    engine = Slurm(workers=SLOTS, memory=1, minutes=10, folder=str(folder / "jobs"))
    with own_slurm(folder / "slurm"):
        began = time.perf_counter()
        tally = run_tasks(tasks, Store(folder / "nap" / "store"), engine, plugins=[plugin])
        passed = time.perf_counter() - began
    assert tally.done == count
    jobs = len(list((folder / "jobs").glob("*_submitted.pkl")))
    load, each = os.getloadavg()[0], SLOTS * passed / jobs
    return [
        "",
        f"On Slurm, one node with {SLOTS} slots, {count} of them: {passed:.0f} s from the first submission to the "
        f"last record (load {load:.1f}), in {jobs} jobs, {each:.1f} s of a slot for each.",
    ]


def section(count: int = 1000, engines: tuple[str, ...] = ("here", "local", "dask", "slurm")) -> list[str]:
    lines = ["| engine, one worker | ms a task, passed | ms a task, processor | target |", "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in engines if name in ENGINES):
            passed, cost = processor(ENGINES[name], count, Path(folder))
            verdicts = ["met" if value <= TARGET else "**missed**" for value in (passed, cost)]
            lines.append(f"| {name} | {passed:.1f} | {cost:.1f} | at most {TARGET:g}: {verdicts[0]}; {verdicts[1]} |")
        if "slurm" in engines:
            there = shutil.which("slurmd", path=f"{os.environ['PATH']}:/usr/sbin")
            lines += of_slurm(count, Path(folder)) if there else ["", "Slurm is not installed: `make test-cluster`."]
    return [f"A study of {count:,} tasks of 10 ms:", "", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--engines", nargs="+", default=["here", "local", "dask", "slurm"], choices=[*ENGINES, "slurm"])
    options = parser.parse_args()
    print("\n".join(section(options.tasks, tuple(options.engines))))


if __name__ == "__main__":
    main()
