"""Tuning: a method's fields searched by Optuna; every point is tasks of the store, so that none is computed twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.estimate import Estimate
from hatchel.core.files import claimed
from hatchel.core.plugins import extra
from hatchel.core.spec import to_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.metrics.metric import Metric
from hatchel.study.engines.engine import Engine
from hatchel.study.grid import metrics
from hatchel.study.runner import run_tasks
from hatchel.study.space import Dimension, every_point
from hatchel.study.statistics import mean_of
from hatchel.study.store import Store
from hatchel.study.table import kind_of, shown
from hatchel.study.task import Task
from hatchel.study.trained import Agreement, Trained
from hatchel.training.spec import RunSpec

if TYPE_CHECKING:
    import optuna

UDR = "udr"
"""The objective that needs no factors: it compares the seeds of a point with each other."""
FAILURES = 3
"""Trials that may fail one after the other before the search is given up."""


@dataclass(frozen=True)
class Trial:
    """A point that was tried."""

    number: int
    point: Mapping[str, Any]
    found: Estimate


@dataclass(frozen=True)
class Tuning:
    """What is searched, and for what."""

    method: str
    data: Source
    space: tuple[Dimension, ...]
    metric: str
    """A value of the records: mig, dci.completeness, mig@sample; or udr."""
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the method and fields of the run that stay."""
    seeds: int = 3
    items: int = 5_000
    """Items encoded for the metric."""
    direction: Literal["minimize", "maximize"] | None = None
    """Left out: what the metric says of itself."""
    seed: int = 0
    """Random seed of the search; the runs have seeds 0, 1, ..."""

    def __post_init__(self) -> None:
        """A mistake in a field would be one in every trial: it is reported at once."""
        if not self.space:
            raise HatchelError("nothing to tune: give a field a range or a list, such as beta=1..16 latent.dim=[5,10]")
        if self.base not in Metric.members():
            raise unknown("metric", self.base, Metric.members(), where="--metric")
        if self.metric == UDR and self.seeds < 2:
            raise HatchelError("--metric udr: compares models of several seeds; --seeds 2 or more")
        first = {dimension.field: dimension.values[0] for dimension in self.space}
        for dimension in self.space:
            for value in dimension.values:
                self.run({**first, dimension.field: value})

    @property
    def base(self) -> str:
        """The metric that is measured: `dci` of `dci.completeness@sample`."""
        return kind_of(self.metric)

    @property
    def way(self) -> Literal["minimize", "maximize"]:
        return self.direction or ("minimize" if Metric.members()[self.base].lower_is_better else "maximize")

    @property
    def name(self) -> str:
        """The same search has the same name, and so goes on where it was."""
        body = [self.method, to_dict(self.data), [d.text() for d in self.space], self.metric, to_dict(dict(self.fixed))]
        text = json.dumps([*body, self.seeds, self.items, self.way, self.seed], sort_keys=True)
        return f"{self.method}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def run(self, point: Mapping[str, Any]) -> RunSpec:
        if "seed" in self.fixed:
            raise HatchelError(f"{self.method}.seed: comes from `seeds`; leave it out")
        return resolve(self.method, self.data, {**self.fixed, **point}, where=self.method)

    def stages(self, point: Mapping[str, Any]) -> list[list[Task]]:
        """What a trial computes. The tasks of a stage are independent; the next stage needs it done."""
        spec, numbers = self.run(point), range(self.seeds)
        if self.metric != UDR:
            return [[Trained(seed=s, run=spec, metrics=metrics(self.base), items=self.items) for s in numbers]]
        trained = [Trained(seed=s, run=spec, metrics=metrics("active_units"), items=self.items) for s in numbers]
        return [[*trained], [Agreement(seed=0, run=spec, seeds=self.seeds, items=self.items)]]

    @property
    def names(self) -> list[str]:
        """Of the values, in the records of the last stage."""
        return [f"{UDR}.seed_{s}" for s in range(self.seeds)] if self.metric == UDR else [self.metric]


class Search:
    """A tuning in a store: STORE/tune/NAME.journal, to which several processes may add at once."""

    def __init__(self, tuning: Tuning, store: Store, engine: Engine, plugins: Sequence[Path] = ()) -> None:
        self.tuning, self.store, self.engine, self.plugins = tuning, store, engine, plugins
        self.folder = store.folder / "tune"
        self.optuna = _optuna()

    def go(self, trials: int, log: Callable[[str], None] = lambda line: None) -> list[Trial]:
        """Go on until so many trials are complete, counting earlier ones and other processes'; the best first."""
        self.store.create()
        study = self._study()
        self._take_over(study)
        every = every_point(self.tuning.space)
        wanted = min(trials, len(every)) if every else trials
        for point in every if len(every) <= trials else ():
            study.enqueue_trial(point, skip_if_exists=True)
        failed = 0
        while len(self._trials(study, "COMPLETE")) < wanted:
            error = self._try(study, log)
            failed = failed + 1 if error else 0
            if failed == FAILURES:
                raise HatchelError(f"{FAILURES} trials failed one after the other, the last with: {error}")
        return self.ranked(study)

    def ranked(self, study: optuna.Study) -> list[Trial]:
        """Complete trials, the best first; of equal points the first."""
        found: dict[str, Trial] = {}
        for trial in self._trials(study, "COMPLETE"):
            point = {d.field: d.read(trial.params[d.field]) for d in self.tuning.space}
            made = Trial(trial.number, point, mean_of(trial.user_attrs["values"]))
            found.setdefault(json.dumps(trial.params, sort_keys=True), made)
        sign = 1 if self.tuning.way == "minimize" else -1
        return sorted(found.values(), key=lambda t: (sign * t.found.value, t.number))

    def values(self, point: Mapping[str, Any]) -> list[float]:
        """The metric for each seed, computed where the store does not have it."""
        last: list[Task] = []
        for last in self.tuning.stages(point):
            run_tasks(last, self.store, self.engine, retry=True, plugins=self.plugins)
            failed = [task.digest() for task in last if self.store.status(task.digest()) == "failed"]
            if failed:
                raise HatchelError(self.store.error(failed[0]))
        found: list[float] = []
        for task in last:
            record = self.store.record(task.digest())["values"]
            for name in self.tuning.names:
                if name not in record:
                    raise unknown("value", name, record, where="--metric")
                found.append(float(record[name]))
        return found

    def _study(self) -> optuna.Study:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        self.folder.mkdir(parents=True, exist_ok=True)
        return self.optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(self.folder / f"{self.tuning.name}.journal"))),
            study_name=self.tuning.name,
            direction=self.tuning.way,
            load_if_exists=True,
        )

    def _try(self, study: optuna.Study, log: Callable[[str], None]) -> str | None:
        """One trial; why it failed, if it did."""
        begin, trial = time.monotonic(), study.ask()
        with claimed(self._lock(trial.number)):
            # By the trial's number: the same search draws the same points, and two processes draw different ones.
            mixed = (self.tuning.seed * 1_000_003 + trial.number) % 2**32
            study.sampler = self.optuna.samplers.TPESampler(seed=mixed)
            point = {dimension.field: dimension.suggest(trial) for dimension in self.tuning.space}
            head = f"trial {trial.number}: {point_text(point)}"
            try:
                values = self.values(point)
            except HatchelError as error:
                study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
                log(f"{head}: failed: {error}")
                return str(error)
            found = mean_of(values)
            trial.set_user_attr("values", values)
            study.tell(trial, found.value)
        log(f"{head}: {self.tuning.metric} {shown(found, 4)}, {time.monotonic() - begin:.0f} s")
        return None

    def _take_over(self, study: optuna.Study) -> None:
        """Points of processes that died are tried again; what they have trained is kept by the store."""
        for trial in self._trials(study, "RUNNING"):
            with claimed(self._lock(trial.number)) as free:
                if free:
                    study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
                    if len(trial.params) == len(self.tuning.space):
                        study.enqueue_trial(trial.params)

    def _trials(self, study: optuna.Study, state: str) -> list[Any]:
        return study.get_trials(deepcopy=False, states=(self.optuna.trial.TrialState[state],))

    def _lock(self, number: int) -> Path:
        return self.folder / "locks" / f"{self.tuning.name}-{number}"


def point_text(point: Mapping[str, Any]) -> str:
    """A point in a line.

    >>> point_text({"beta": 2.123456789, "latent.dim": 4})
    'beta=2.12346 latent.dim=4'
    """
    return " ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in point.items())


def _optuna() -> Any:
    optuna = extra("optuna", "tune", "tuning")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
