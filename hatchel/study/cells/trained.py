"""Trained: a run, trained and measured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchel.errors import HatchelError
from hatchel.files import exclusive
from hatchel.metrics.metric import Metric
from hatchel.spec import Count, decode, updated
from hatchel.study.cell import Cell, Place, Record
from hatchel.training.spec import RunSpec

if TYPE_CHECKING:
    from hatchel.evaluation import Evaluation
    from hatchel.run import Run

CALIBRATION = 12
"""Steps timed for an estimate; the first third warms up."""


class Trained(Cell):
    """A run's scores after training, and on the way there if asked.

    A value is named METRIC for the posterior means and METRIC@REPRESENTATION for samples, levels and layers; the
    parts of a score are METRIC.PART. The run is kept under its own digest, so that cells that measure the same run
    differently train it once.
    """

    run: RunSpec
    """What is trained; its seed is the cell's."""
    metrics: tuple[Metric, ...] = ()
    """What is measured; all that can be, if none is named."""
    items: Count = 15_000
    """Items encoded for it."""
    layers: bool = False
    """Also measure the encoder's inner layers."""
    snapshots: Count = 1
    """Times it is measured during training, equally spaced; the last is at the end."""

    def compute(self, place: Place) -> Record:
        """Train to each snapshot, measure, go on."""
        steps = [self.run.steps * (i + 1) // self.snapshots for i in range(self.snapshots)]
        values: dict[str, float] = {}
        details: dict[str, Any] = {"curves": {}}
        for step in steps:
            run = self.trained(place, step)
            found = self.evaluated(run)
            values = flat(found)
            for name, value in values.items() if self.snapshots > 1 else ():
                details["curves"].setdefault(name, []).append([step, value])
            details["matrices"] = matrices(found)
            if self.snapshots > 1:
                details.setdefault("history", []).append([step, details["matrices"]])
            details["settings"] = found.settings
            details["training"] = training_curves(run)
        return Record(values, details)

    def trained(self, place: Place, steps: int | None = None) -> Run:
        """The run after so many steps (all of them, if not said), from where an earlier attempt left it."""
        from hatchel.run import train

        spec = self.run.with_fields(seed=self.seed, threads=place.threads)
        # A run that is looked at on its way cannot be one that another cell has already trained to the end.
        way = f"-by-{self.snapshots}" if self.snapshots > 1 else ""
        folder = place.runs / f"{spec.name}-{spec.digest()}{way}"
        # Two cells may measure one run: the second waits, and finds it trained.
        with exclusive(folder.with_suffix(".lock")):
            return self._trained(train, spec, folder, steps or spec.steps)

    def _trained(self, train: Any, spec: RunSpec, folder: Path, steps: int) -> Run:
        from hatchel.training.loop import Stopped

        try:
            return train(spec.with_fields(steps=steps), out=folder, resume=True, progress=False)
        except Stopped:
            raise  # saved, not failed
        except HatchelError as error:
            raise HatchelError(f"{spec.name}, seed {self.seed}: {error}") from error

    def evaluated(self, run: Run) -> Evaluation:
        """The scores of a run; not stored in its folder, where other cells would overwrite them."""
        from hatchel.evaluation import evaluate

        which: Any = self.metrics or "all"
        return evaluate(run, which, items=self.items, seed=0, layers=self.layers, store=False)

    def seconds(self, threads: int = 1) -> float | None:
        """Steps times the time of one, measured on a throw-away run."""
        import tempfile

        from hatchel.run import train
        from hatchel.training.events import read_events

        with tempfile.TemporaryDirectory() as folder:
            spec = updated(self.run, {"steps": CALIBRATION, "log_every": CALIBRATION // 3, "threads": threads})
            begin = time.monotonic()
            run = train(spec, out=Path(folder) / "run", progress=False)
            rest = time.monotonic() - begin
            events = read_events(run.folder)[1:]
        each = sum(float(e["seconds_per_step"]) for e in events) / len(events)
        return rest + each * self.run.steps


def training_curves(run: Run, points: int = 60) -> dict[str, list[list[float]]]:
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


def metrics(*names: str | Mapping[str, Any]) -> tuple[Metric, ...]:
    """Metrics by name or by their fields."""
    return tuple(decode(Metric, name, "metrics") for name in names)
