"""Estimate: how long a study's cells will take, before they are computed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.study.cell import Cell, Place
from hatchel.study.engines.engine import Engine
from hatchel.study.progress import duration
from hatchel.study.store import Store
from hatchel.study.worker import cpu_threads
from hatchel.training.spec import RunSpec

PATIENCE = 60.0
"""Seconds spent on timing; configurations beyond that are taken to be like the others."""
CALIBRATION = 12
"""Steps of a training that are timed; the first third warms up."""


@dataclass(frozen=True)
class Estimate:
    """The time of the cells that have no record yet."""

    cells: int
    computing: float
    """Seconds of all of them, one after the other."""
    longest: float
    """Seconds of the longest."""
    slots: int
    """Cells at once."""
    guessed: int = 0
    """Cells like no other that was timed."""
    faults: tuple[str, ...] = ()
    """Why some could not be timed: they will fail too."""

    @property
    def seconds(self) -> float:
        """Until all are done."""
        return max(self.computing / self.slots, self.longest)

    def text(self) -> str:
        """In one line.

        >>> Estimate(40, 7200, 180, 2).text()
        '40 cells to compute, 2 at once: roughly 1 h 0 min'
        >>> Estimate(1, 0.2, 0.2, 2).text(), Estimate(0, 0, 0, 2).text()
        ('1 cell to compute: a moment', 'nothing left to compute')
        """
        if not self.cells:
            return "nothing left to compute"
        head = f"{self.cells} cell{'s' * (self.cells > 1)} to compute"
        head += f", {self.slots} at once" if min(self.cells, self.slots) > 1 else ""
        what = f"roughly {duration(self.seconds)}" if self.seconds >= 1 else "a moment"
        return f"{head}: {what}{f' ({self.guessed} of them not timed)' if self.guessed else ''}"


def estimate(cells: Sequence[Cell], store: Store, engine: Engine, patience: float = PATIENCE) -> Estimate:
    """From what equal cells with other seeds took in this store, else from a short calibration of one of them.

    A run that several cells ask for is counted once, and one that is there already not at all.
    """
    distinct = {cell.digest(): cell for cell in cells}
    alike: dict[str, list[Cell]] = {}
    for cell in distinct.values():
        alike.setdefault(cell.with_fields(seed=0).digest(), []).append(cell)
    clock = _Clock(Place(store.folder, store.runs, engine.threads), time.monotonic() + patience)
    faults, guessed = list[str](), list[int]()
    times: list[tuple[int, float]] = []
    for group in alike.values():
        waiting = [c for c in group if store.status(c.digest()) == "waiting"]
        if not waiting:
            continue
        each = _recorded(group, store)
        if each is None:
            try:
                each = clock.each(waiting)
            except HatchelError as error:
                faults.append(str(error))
        if each is None:
            guessed.append(len(waiting))
        else:
            times.append((len(waiting), each))
    timed = sum(count for count, _ in times)
    mean = sum(count * each for count, each in times) / timed if timed else 0.0
    return Estimate(
        timed + sum(guessed),
        mean * (timed + sum(guessed)),
        max((each for _, each in times), default=0.0),
        engine.slots,
        sum(guessed),
        tuple(dict.fromkeys(faults)),
    )


class _Clock:
    """Times one training and one cell of each configuration, until its patience ends."""

    def __init__(self, place: Place, end: float) -> None:
        self.place, self.end = place, end
        self.counted: set[str] = set()
        self.trainings: dict[str, float] = {}

    def each(self, cells: Sequence[Cell]) -> float | None:
        """The mean of cells that differ in their seeds alone; None if there was no time for it."""
        asked = {run.digest(): run for cell in cells for run in cell.trainings()}
        runs = {digest: run for digest, run in asked.items() if not self.place.run(run).exists()}
        seconds = 0.0
        for digest in runs.keys() - self.counted:
            kind = runs[digest].with_fields(seed=0)
            if kind.digest() not in self.trainings:
                if time.monotonic() >= self.end:
                    return None
                self.trainings[kind.digest()] = training_seconds(kind, self.place.threads)
            seconds += self.trainings[kind.digest()]
        if time.monotonic() >= self.end:
            return None
        self.counted |= runs.keys()
        with cpu_threads(self.place.threads):
            return seconds / len(cells) + (cells[0].seconds() or 0.0)


def training_seconds(run: RunSpec, threads: int = 1) -> float:
    """Steps times the time of one, measured on a throw-away run."""
    from hatchel.training.events import read_events
    from hatchel.training.run import train

    with tempfile.TemporaryDirectory() as folder:
        spec = updated(run, {"steps": CALIBRATION, "log_every": CALIBRATION // 3, "threads": threads})
        begin = time.monotonic()
        trained = train(spec, out=Path(folder) / "run", progress=False)
        rest = time.monotonic() - begin
        events = read_events(trained.folder)[1:]
    each = sum(float(e["seconds_per_step"]) for e in events) / len(events)
    return rest + each * run.steps


def _recorded(group: Sequence[Cell], store: Store) -> float | None:
    """The mean time of those that are done."""
    done = [store.record(c.digest())["seconds"] for c in group if store.status(c.digest()) == "done"]
    return sum(done) / len(done) if done else None
