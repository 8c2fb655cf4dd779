"""Comparison: several runs side by side, those that differ only in their seed taken together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate
from hatchel.core.fields import dotted
from hatchel.core.spec import to_dict
from hatchel.evaluation.evaluation import ITEMS
from hatchel.report.findings import Findings, analyse
from hatchel.study import frame as frames
from hatchel.study.claims import higher, lower, outcome
from hatchel.study.frame import Frame
from hatchel.training.run import TrainedRun


@dataclass(frozen=True)
class Group:
    """Runs of one method on the same data for as many steps, that differ in nothing but their seed."""

    label: str
    members: tuple[Findings, ...]

    @property
    def first(self) -> Findings:
        return self.members[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(f.run.spec.seed for f in self.members)

    @property
    def fingerprint(self) -> str:
        """Of the data: scores on different data say nothing about each other."""
        return self.first.run.description.fingerprint


@dataclass(frozen=True)
class Comparison:
    """What several runs have been found to be."""

    groups: tuple[Group, ...]

    @property
    def one_data(self) -> bool:
        """Whether all were trained on the same data."""
        return len({g.fingerprint for g in self.groups}) == 1

    @cached_property
    def frame(self) -> Frame:
        """Every score of every run, as that of a study with the labels `run` (the group) and `data`."""
        return frames.build(
            ({"run": group.label, "data": group.fingerprint}, found.run.spec.seed, _record(found))
            for group in self.groups
            for found in group.members
        )


def load_runs(folders: Sequence[Path], data: str | None = None) -> list[TrainedRun]:
    """All runs with their data, or the first that cannot be had, by its folder; before anything is measured."""
    runs: list[TrainedRun] = []
    seen: dict[tuple[Any, ...], Path] = {}
    for folder in folders:
        try:
            run = TrainedRun.load(folder, "auto", data=data)
            key = (*_identity(run), run.spec.seed)
            if key in seen:
                raise HatchelError(f"{folder}: same configuration and seed as {seen[key]}; give one of them")
            _ = run.data
        except HatchelError as error:
            raise error if str(folder) in str(error) else HatchelError(f"{folder}: {error}") from None
        seen[key] = folder
        runs.append(run)
    return runs


def compare(
    runs: Sequence[TrainedRun],
    *,
    items: int = ITEMS,
    seed: int = 0,
    bootstrap: int | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Analyse every run on the same items and take those together that differ only in their seed."""
    found: list[Findings] = []
    for number, run in enumerate(runs, 1):
        log(f"{number}/{len(runs)}  {run.folder}")
        found.append(analyse(run, items=items, seed=seed, bootstrap=bootstrap))
    return grouped(found)


def grouped(found: Sequence[Findings]) -> Comparison:
    """Findings by what was trained, in the order in which they were given."""
    groups: dict[tuple[Any, ...], list[Findings]] = {}
    for one in found:
        groups.setdefault(_identity(one.run), []).append(one)
    members = [tuple(sorted(m, key=lambda f: f.run.spec.seed)) for m in groups.values()]
    names = labels([m[0].run for m in members])
    return Comparison(tuple(Group(name, m) for name, m in zip(names, members, strict=True)))


def estimate(group: Frame, key: str) -> Estimate | None:
    """A score of a group by its name in scores.json; None where a run of it does not have it.

    One run has its interval over the items measured; several the mean over seeds with the interval over the runs.
    """
    found = group[group["metric"] == key]
    if not len(found) or len(found) < group["task"].nunique():
        return None
    if len(found) == 1:
        return Estimate(*(float(found[c].iloc[0]) for c in ("value", "low", "high")), n=1)
    return frames.estimate(group, key)


def best(frame: Frame, key: str, lower_is_better: bool) -> list[str]:
    """The runs that beat all others on the same data, by the rule of every claim: `higher` or `lower`, seed by seed."""
    against, marked = lower if lower_is_better else higher, list[str]()
    for group in frames.groups(frame, "data").values():
        members = [str(label) for (label,) in frames.groups(group, "run")]
        for label in members:
            rivals = [{"run": other} for other in members if other != label]
            marked += [label] if rivals and outcome(against(key, {"run": label}, *rivals)(group)) else []
    return marked


def _record(found: Findings) -> dict[str, Any]:
    scores = {**found.scores, **{fit.score.name: fit.score for fit in found.fits}}
    intervals = {name: (s.interval.low, s.interval.high, s.n) for name, s in scores.items() if s.interval}
    values = {name: score.value for name, score in scores.items()}
    return {"digest": str(found.run.folder), "values": values, "intervals": intervals}


def labels(runs: Sequence[TrainedRun]) -> list[str]:
    """A short name for each: the method, and where that is not enough what differs, the data or the folder."""
    names = [run.spec.name for run in runs]
    fields = [flat(run) for run in runs]
    result: list[str] = []
    for name, run, own in zip(names, runs, fields, strict=True):
        alike = [f for n, f in zip(names, fields, strict=True) if n == name]
        differing = [key for key in own if any(f.get(key) != own[key] for f in alike)]
        shown = [f"{short(key)}={own[key]}" for key in differing if own[key] is not None][:2]
        result.append(" ".join([name, *shown]))
        if len(alike) > 1 and not shown:
            result[-1] += f" ({run.folder.name})"
    twice = {name for name in result if result.count(name) > 1}
    return [f"{n} ({run.folder.name})" if n in twice else n for n, run in zip(result, runs, strict=True)]


def short(key: str) -> str:
    """The last name of a dotted path that says something: `objective.kl.weight.value` is the weight of kl.

    >>> short("objective.kl.weight.value"), short("latent.dim"), short("steps")
    ('kl.weight', 'latent.dim', 'steps')
    """
    parts = [p for p in key.split(".") if p not in ("objective", "value", "kind")]
    return ".".join(parts[-2:]) or key


def flat(run: TrainedRun) -> dict[str, Any]:
    """What was trained, on what and how long, as {dotted field: value}; without the seed."""
    spec = run.spec.with_fields(seed=0)
    return {**dotted(to_dict(spec, identity=True)), "data": run.data.name, "steps": run.steps}


def differences(groups: Sequence[Group]) -> Mapping[str, list[str]]:
    """{dotted field: its value in each group} for the fields in which groups differ."""
    fields = [flat(g.first.run) for g in groups]
    keys = dict.fromkeys(key for f in fields for key in f)
    found = {key: [str(f.get(key, "–")) for f in fields] for key in keys}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _identity(run: TrainedRun) -> tuple[Any, ...]:
    """Everything but the seed."""
    return run.spec.with_fields(seed=0).digest(), run.description.fingerprint, run.steps
