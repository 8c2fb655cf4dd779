"""Comparison: several runs side by side, those that differ only in their seed taken together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate
from hatchel.core.spec import to_dict
from hatchel.evaluation.evaluation import ITEMS
from hatchel.metrics.statistics import over_seeds
from hatchel.report.findings import Findings, analyse
from hatchel.training.run import TrainedRun


@dataclass(frozen=True)
class Group:
    """Runs of one method on the same data for as many steps, that differ in nothing but their seed."""

    label: str
    members: tuple[Findings, ...]

    @property
    def first(self) -> Findings:
        """Of the smallest seed."""
        return self.members[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of its members."""
        return tuple(f.run.spec.seed for f in self.members)

    @property
    def fingerprint(self) -> str:
        """Of the data: scores on different data say nothing about each other."""
        return self.first.run.description.fingerprint


@dataclass(frozen=True)
class Entry:
    """One score of a group."""

    value: float
    """Of the one run, or the mean over seeds."""
    interval: Estimate | None
    """Over the items measured for one run, over the runs for several."""
    each: tuple[float, ...]
    """Run by run."""


@dataclass(frozen=True)
class Comparison:
    """What several runs have been found to be."""

    groups: tuple[Group, ...]

    @property
    def one_data(self) -> bool:
        """Whether all were trained on the same data."""
        return len({g.fingerprint for g in self.groups}) == 1


def load_runs(folders: Sequence[Path], device: str = "auto") -> list[TrainedRun]:
    """All runs with their data, or the first that cannot be had, by its folder; before anything is measured."""
    runs: list[TrainedRun] = []
    seen: dict[tuple[Any, ...], Path] = {}
    for folder in folders:
        try:
            run = TrainedRun.load(folder, device)
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
    say: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Examine every run on the same items and take those together that differ only in their seed."""
    found: list[Findings] = []
    for number, run in enumerate(runs, 1):
        say(f"{number}/{len(runs)}  {run.folder}")
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


def entry(group: Group, key: str) -> Entry | None:
    """A score of a group by its name in scores.json; None where a run of it does not have it.

    Several seeds: their mean with the bootstrap interval of `hatchel.metrics.statistics.over_seeds`.
    """
    scores = [{**f.scores, **{fit.score.name: fit.score for fit in f.fits}}.get(key) for f in group.members]
    known = [s for s in scores if s is not None]
    if not known or len(known) < len(scores):
        return None
    each = tuple(s.value for s in known)
    if len(known) == 1:
        return Entry(known[0].value, known[0].interval, each)
    estimate = over_seeds(each)
    return Entry(estimate.value, estimate.interval, each)


def best(entries: Sequence[Entry | None], data: Sequence[str], lower: bool) -> list[bool]:
    """Which entries beat all others on the same data: better, and with an interval that overlaps none of theirs.

    >>> high, low = Entry(0.5, Estimate(0.5, 0.4, 0.6), ()), Entry(0.2, Estimate(0.2, 0.1, 0.3), ())
    >>> best([high, low], ["a", "a"], lower=False), best([high, low], ["a", "b"], lower=False)
    ([True, False], [False, False])
    """
    marks: list[bool] = []
    for i, own in enumerate(entries):
        rivals = [e for j, e in enumerate(entries) if j != i and e is not None and data[j] == data[i]]
        marks.append(own is not None and bool(rivals) and all(_beats(own, rival, lower) for rival in rivals))
    return marks


def _beats(own: Entry, rival: Entry, lower: bool) -> bool:
    if own.interval is None or rival.interval is None or len(own.each) == 2 or len(rival.each) == 2:
        return False  # the bootstrap of two values is these two values: nothing that a claim could rest on
    return own.interval.high < rival.interval.low if lower else own.interval.low > rival.interval.high


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
    return {**_leaves(to_dict(spec, identity=True)), "data": run.data.name, "steps": run.steps}


def differences(groups: Sequence[Group]) -> Mapping[str, list[str]]:
    """{dotted field: its value in each group} for the fields in which groups differ."""
    fields = [flat(g.first.run) for g in groups]
    keys = dict.fromkeys(key for f in fields for key in f)
    found = {key: [str(f.get(key, "–")) for f in fields] for key in keys}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for key, inner in cast(dict[str, Any], value).items():
        found |= _leaves(inner, f"{path}.{key}" if path else key)
    return found


def _identity(run: TrainedRun) -> tuple[Any, ...]:
    """Everything but the seed."""
    return run.spec.with_fields(seed=0).digest(), run.description.fingerprint, run.steps
