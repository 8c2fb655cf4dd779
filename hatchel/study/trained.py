"""Trained: a run, trained and measured. Grown: one that may go on. Agreement: how alike those of several seeds are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, exclusive
from hatchel.core.spec import Count, added
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
    differently train it once.
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
    on_the_way: tuple[Metric, ...] = added(default=())
    """What is measured before the end; the same as there, if none is named."""
    beside: tuple[Metric, ...] = added(default=())
    """What is measured of samples, levels and layers; the same as of the means, if none is named."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.report.page import training_seconds

        run = self.trained(workspace)
        steps = self.times()
        measured = [self._measured(run, step) for step in steps]
        details: dict[str, Any] = {"curves": {}}
        if self.snapshots > 1:
            for step, found in zip(steps, measured, strict=True):
                for name, value in flat(found).items():
                    details["curves"].setdefault(name, []).append([step, value])
            details["history"] = [[s, matrices(found)] for s, found in zip(steps, measured, strict=True)]
        last = measured[-1]
        details |= {"matrices": matrices(last), "settings": last.settings, "training": training_curves(run)}
        details |= {"collapse": last.collapse} if last.collapse else {}
        return Result(flat(last) | seen_by_critics(run), details, training_seconds(run))

    def check(self) -> None:
        if self.snapshots > self.run.steps:
            raise HatchelError(f"snapshots: {self.snapshots} of {self.run.steps} steps; take at most one a step")

    def times(self) -> list[int]:
        """Steps after which it is measured."""
        every = self.run.steps // self.snapshots
        return [*(every * i for i in range(1, self.snapshots)), self.run.steps]

    def trained(self, workspace: Workspace) -> TrainedRun:
        """The run, from where an earlier attempt left it, with a checkpoint at each time that it is measured."""
        from hatchel.training.checkpoint import checkpoint_of, intact
        from hatchel.training.run import train

        spec = self.run.with_fields(seed=self.seed, threads=workspace.threads)
        if self.snapshots > 1:
            every = spec.steps // self.snapshots
            spec = spec.with_fields(checkpoint_every=every, keep_checkpoints=self.snapshots + 1)
        for folder in (workspace.run(spec), workspace.folder / "run"):
            # Two tasks may measure one run: the second waits, and finds it trained.
            with exclusive(folder.with_suffix(".lock")):
                run = self._trained(train, spec, folder)
            if all(intact(checkpoint_of(folder, step)) for step in self.times()[:-1]):
                break  # else trained for a task that did not ask for these, or damaged: once more, in its own folder
        return run

    def _trained(self, train: Any, spec: RunSpec, folder: Path) -> TrainedRun:
        from hatchel.training.loop import Stopped

        try:
            try:
                return train(spec, out=folder, resume=True, progress=False)
            except Damaged as error:
                print(f"hatchel: {error}; it is trained again from the start", file=sys.stderr)
                return train(spec, out=folder, force=True, progress=False)
        except Stopped:
            raise  # saved, not failed
        except HatchelError as error:
            raise HatchelError(f"{spec.name}, seed {self.seed}: {error}") from error

    def _measured(self, run: TrainedRun, step: int) -> Evaluation:
        from hatchel.training.run import TrainedRun

        if step == run.steps:
            return self.evaluated(run)
        return self.evaluated(TrainedRun.load(run.folder, step=step, data=run.data), self.on_the_way)

    def evaluated(self, run: TrainedRun, metrics: tuple[Metric, ...] = ()) -> Evaluation:
        """The scores of a run, without intervals: those of a study are over its seeds."""
        from hatchel.evaluation.evaluation import Evaluation, StoredScores, evaluate

        which: Any = metrics or self.metrics or "all"
        if not self.beside or metrics:
            return evaluate(run, which, items=self.items, seed=0, layers=self.layers, bootstrap=0)
        kept = StoredScores(run, items=self.items, seed=0, layers=self.layers)
        chosen = {name: self.metrics if name == "mean" else self.beside for name in kept.representations}
        scores = {name: kept.measure(name, ms, 0, strict=name == "mean") for name, ms in chosen.items()}
        return Evaluation(scores, kept.settings)


class Grown(Task):
    """A run, trained so far and no further yet: the next round goes on with it.

    `explained` is the share of the items' variance that reconstructions keep, `seconds_per_step` the loop's own time;
    `mig`, where there are labels, is only shown.
    """

    run: RunSpec
    """What is trained, for the steps of this round."""
    items: Count = 3_000
    """Encoded."""
    metrics: tuple[Metric, ...] = added(default=())
    """What is measured of the posterior means; MIG, where there are labels, if none is named."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import Evaluation, StoredScores, encodings, evaluate
        from hatchel.training.events import read_events
        from hatchel.training.run import train

        spec = self.run.with_fields(seed=self.seed, threads=workspace.threads)
        run = train(spec, out=grown_folder(workspace.runs, spec), resume=True, progress=False)
        found = encodings(run, self.items, seed=0)
        values = {"explained": explained(run, found.items)}
        times = [seconds for e in read_events(run.folder) if (seconds := e.get("seconds_per_step"))]
        values["seconds_per_step"] = float(np.median(times))
        if self.metrics:
            kept = StoredScores(run, items=self.items, seed=0)
            values |= flat(Evaluation({"mean": kept.measure("mean", self.metrics, 0, strict=True)}, kept.settings))
        elif run.data.space is not None:
            values["mig"] = float(evaluate(run, ["mig"], items=self.items, seed=0, bootstrap=0)["mean"]["mig"])
        return Result(values)


def grown_folder(runs: Path, spec: RunSpec) -> Path:
    """One for all rounds, whatever the number of steps."""
    return runs / f"{spec.name}-{spec.with_fields(steps=1).digest()}"


def explained(run: TrainedRun, items: NDArray[np.int64]) -> float:
    """1 - squared error of the reconstructions / squared distance from the mean item; for rows, column by column."""
    data = run.data.images(items)
    back = run.reconstruct(data).astype(np.float64)
    wanted = data.astype(np.float64) / (255 if data.dtype == np.uint8 else 1)
    error, spread = ((wanted - other) ** 2 for other in (back, wanted.mean(axis=0)))
    if data.ndim == 2:
        return float(np.mean(1 - error.mean(axis=0) / np.maximum(spread.mean(axis=0), 1e-12)))
    return float(1 - error.sum() / max(spread.sum(), 1e-12))


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
        codes = [encodings(run, self.items, seed=0, every=True).mean for run in runs]
        scores = [float(udr(own, [c for j, c in enumerate(codes) if j != i])) for i, own in enumerate(codes)]
        parts = {f"udr.seed_{number}": score for number, score in zip(numbers, scores, strict=True)}
        return Result({"udr": sum(scores) / len(scores), **parts})


def training_curves(run: TrainedRun, points: int = 60) -> dict[str, list[list[float]]]:
    """The loss, its terms and its critics' readings over the steps, thinned: {name: [[step, value], ...]}."""
    from hatchel.training.events import read_events

    events = read_events(run.folder)
    kept = events[:: max(1, len(events) // points)]
    every = dict.fromkeys(name for event in events for name in event)
    names = [n for n in every if n == "loss" or n.startswith(("term/", "reading/", "independent/"))]
    return {n.removeprefix("term/"): [[e["step"], e[n]] for e in kept if e.get(n) is not None] for n in names}


def seen_by_critics(run: TrainedRun) -> dict[str, float]:
    """`blind_critics`: how many of a run's critics were blind; nothing where it has none."""
    from hatchel.objective.independent import blind_critics
    from hatchel.training.events import read_events

    events = read_events(run.folder)
    has = any(name.startswith("independent/") for event in events for name in event)
    return {"blind_critics": float(len(blind_critics(events)))} if has else {}


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
