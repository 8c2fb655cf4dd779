"""Trained: a run, trained and measured. Agreement: how alike the runs of several seeds are."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from annotated_types import Ge

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, exclusive, read_json, whole_folder, write_json
from hatchel.core.spec import Count
from hatchel.metrics.metric import Metric
from hatchel.study.task import Result, Task, Workspace
from hatchel.training.spec import RunSpec

if TYPE_CHECKING:
    from hatchel.evaluation.evaluation import Evaluation
    from hatchel.training.run import TrainedRun


class Trained(Task):
    """A run's scores after training, and on the way there if asked.

    A value is named METRIC for the posterior means and METRIC@REPRESENTATION for samples, levels and layers; the
    parts of a score are METRIC.PART. The run is kept under its own digest, so that tasks that measure the same run
    differently train it once. One that is measured on its way has a folder of its own, and is kept so at its end.
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    metrics: tuple[Metric, ...] = ()
    """What is measured; all that can be, if none is named."""
    items: Count = 15_000
    """Items encoded for it."""
    layers: bool = False
    """Also measure the encoder's inner layers."""
    snapshots: Count = 1
    """Times it is measured during training, equally spaced; the last is at the end."""

    def compute(self, workspace: Workspace) -> Result:
        steps = [self.run.steps * (i + 1) // self.snapshots for i in range(self.snapshots)]
        measured = [self._measured(workspace, step) for step in steps]
        details: dict[str, Any] = {"curves": {}}
        if self.snapshots > 1:
            for step, found in zip(steps, measured, strict=True):
                for name, value in found["values"].items():
                    details["curves"].setdefault(name, []).append([step, value])
            details["history"] = [[s, found["matrices"]] for s, found in zip(steps, measured, strict=True)]
            self._keep(workspace)
        last = measured[-1]
        return Result(last["values"], details | {k: last[k] for k in ("matrices", "settings", "training")})

    def check(self) -> None:
        if self.snapshots > self.run.steps:
            raise HatchelError(f"snapshots: {self.snapshots} of {self.run.steps} steps; take at most one a step")

    def _measured(self, workspace: Workspace, step: int) -> dict[str, Any]:
        """The scores after so many steps. Kept, because a run that has gone on cannot be measured there again."""
        kept = workspace.folder / f"snapshot-{step}.json"
        if self.snapshots > 1 and kept.is_file():
            try:
                return cast(dict[str, Any], read_json(kept))
            except Damaged as error:
                print(f"hatchel: {error}; the run is trained again up to there", file=sys.stderr)
                shutil.rmtree(workspace.folder / "run", ignore_errors=True)
        run = self.trained(workspace, step)
        found = self.evaluated(run)
        result = {"values": flat(found), "matrices": matrices(found), "settings": found.settings}
        result["training"] = training_curves(run)
        if self.snapshots > 1:
            workspace.folder.mkdir(parents=True, exist_ok=True)
            write_json(kept, result)
        return result

    def trained(self, workspace: Workspace, steps: int | None = None) -> TrainedRun:
        """The run after so many steps (all of them, if not said), from where an earlier attempt left it."""
        from hatchel.training.run import train

        spec = self._spec(workspace)
        # A run that is measured on its way cannot be one that another task has already trained further.
        folder = workspace.folder / "run" if self.snapshots > 1 else workspace.run(spec)
        # Two tasks may measure one run: the second waits, and finds it trained.
        with exclusive(folder.with_suffix(".lock")):
            return self._trained(train, spec, folder, steps or spec.steps)

    def _spec(self, workspace: Workspace) -> RunSpec:
        return self.run.with_fields(seed=self.seed, threads=workspace.threads)

    def _keep(self, workspace: Workspace) -> None:
        """Leave the trained run where the tasks are that ask for it without snapshots."""
        shared = workspace.run(self._spec(workspace))
        with exclusive(shared.with_suffix(".lock")):
            if not shared.exists():
                with whole_folder(shared) as draft:
                    shutil.copytree(workspace.folder / "run", draft, dirs_exist_ok=True)

    def _trained(self, train: Any, spec: RunSpec, folder: Path, steps: int) -> TrainedRun:
        from hatchel.training.loop import Stopped

        wanted = spec.with_fields(steps=steps)
        try:
            try:
                return train(wanted, out=folder, resume=True, progress=False)
            except Damaged as error:
                print(f"hatchel: {error}; it is trained again from the start", file=sys.stderr)
                return train(wanted, out=folder, force=True, progress=False)
        except Stopped:
            raise  # saved, not failed
        except HatchelError as error:
            raise HatchelError(f"{spec.name}, seed {self.seed}: {error}") from error

    def evaluated(self, run: TrainedRun) -> Evaluation:
        """The scores of a run, without intervals: those of a study are over its seeds."""
        from hatchel.evaluation.evaluation import evaluate

        which: Any = self.metrics or "all"
        return evaluate(run, which, items=self.items, seed=0, layers=self.layers, bootstrap=0)


class Agreement(Task):
    """UDR of each seed's model among the others (Duan et al. 2020): `udr` is their mean, `udr.seed_S` each one's.

    The models are the runs of `Trained` tasks with these seeds: those that are trained already are not trained again.
    """

    run: RunSpec
    """What is trained; seeds `seed`, `seed` + 1, ..."""
    seeds: Annotated[int, Ge(2)] = 3
    """Models that are compared."""
    items: Count = 5_000
    """Items that all of them encode."""

    def trainings(self) -> tuple[RunSpec, ...]:
        return tuple(self.run.with_fields(seed=seed) for seed in range(self.seed, self.seed + self.seeds))

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import encodings
        from hatchel.metrics import udr

        numbers = [run.seed for run in self.trainings()]
        runs = [Trained(seed=number, run=self.run).trained(workspace) for number in numbers]
        codes = [encodings(run, self.items, seed=0).mean for run in runs]
        scores = [float(udr(own, [c for j, c in enumerate(codes) if j != i])) for i, own in enumerate(codes)]
        parts = {f"udr.seed_{number}": score for number, score in zip(numbers, scores, strict=True)}
        return Result({"udr": sum(scores) / len(scores), **parts})


def training_curves(run: TrainedRun, points: int = 60) -> dict[str, list[list[float]]]:
    """The loss and its terms over the steps, thinned: {name: [[step, value], ...]}."""
    from hatchel.training.events import read_events

    events = read_events(run.folder)
    kept = events[:: max(1, len(events) // points)]
    names = [n for n in (events[-1] if events else {}) if n == "loss" or n.startswith("term/")]
    return {n.removeprefix("term/"): [[e["step"], e[n]] for e in kept if e.get(n) is not None] for n in names}


def flat(found: Evaluation) -> dict[str, float]:
    """Every number of an evaluation by name."""
    values: dict[str, float] = {}
    for representation, scores in found.items():
        suffix = "" if representation == "mean" else f"@{representation}"
        for name, score in scores.items():
            values[f"{name}{suffix}"] = score.value
            values |= {f"{name}.{part}{suffix}": number for part, number in _numbers(score.parts)}
    return values


def matrices(found: Evaluation) -> dict[str, Any]:
    """The matrices behind the scores: {name: {"rows": [[...]], "factors": [...]}}."""
    result: dict[str, Any] = {}
    for representation, scores in found.items():
        suffix = "" if representation == "mean" else f"@{representation}"
        for name, score in scores.items():
            if score.matrix is not None:
                result[f"{name}{suffix}"] = {"rows": score.to_dict()["matrix"], "factors": list(score.factors)}
    return result


def _numbers(parts: Mapping[str, Any]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, part in parts.items():
        if isinstance(part, Mapping):
            found += [(f"{name}.{k}", v) for k, v in _numbers(part)]  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(part, int | float) and not isinstance(part, bool) and part == part:
            found.append((name, float(part)))
    return found
