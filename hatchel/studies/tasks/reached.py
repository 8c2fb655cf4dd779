"""Reached: how long a run trains until it reconstructs as well as another does at its end."""

from __future__ import annotations

import statistics
from typing import Any

from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

WINDOW = 5
"""Logged means of the reconstruction term that are averaged, because batches differ."""


class Reached(Task):
    """Steps, and seconds at the run's own pace, until the reconstruction term is down to the other run's last.

    `wanted` is the other's error at its end, `error` the run's own; without `steps` it was not reached. The pace is
    the median over the run: two runs that were not trained side by side are only roughly comparable in time.
    """

    run: RunSpec
    """The run; its seed is the task's."""
    other: RunSpec
    """Whose error is to be reached, with the same seed."""

    def compute(self, workspace: Workspace) -> Result:
        own, other = (Trained(seed=self.seed, run=run).trained(workspace) for run in (self.run, self.other))
        errors, wanted = _errors(own), _errors(other)[-1][1]
        pace = statistics.median(e["seconds_per_step"] for e in read_events(own.folder))
        values = {"wanted": wanted, "error": errors[-1][1], "milliseconds a step": 1000 * pace}
        reached = [step for step, error in errors if error <= wanted]
        return Result(values | ({"steps": float(reached[0]), "seconds": reached[0] * pace} if reached else {}))


def _errors(run: TrainedRun) -> list[tuple[int, float]]:
    """The reconstruction term at each logged step, a mean over the last few."""
    events: list[dict[str, Any]] = read_events(run.folder)
    values = [float(e["term/rec"]) for e in events]
    return [(int(e["step"]), statistics.fmean(values[max(0, i + 1 - WINDOW) : i + 1])) for i, e in enumerate(events)]
