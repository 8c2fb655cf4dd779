"""Grid: every task of a study at a scale, as a product of named axes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import Change, resolve
from hatchel.metrics.metric import Metric
from hatchel.study.task import Case, Label
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")
MEASURE = ("metrics", "items", "layers", "snapshots", "on_the_way", "beside")
"""Fields of how a run is measured; everything else that a setting changes is of the run."""


@dataclass(frozen=True)
class Setting:
    """One value of an axis: its labels, and what it changes.

    A change is of `method`, of `data`, of the method's parameters, of a field of the run, or of how it is measured.
    """

    labels: Mapping[str, Label]
    changes: tuple[Change, ...] = ()

    def __add__(self, other: Setting) -> Setting:
        return Setting({**self.labels, **other.labels}, (*self.changes, *other.changes))


@dataclass(frozen=True)
class Grid:
    """Tasks with their labels, each computed with seeds `first`, `first` + 1, ..."""

    cases: tuple[Case, ...]
    """With any seed: the grid sets it."""
    seeds: int = 3
    note: str = ""
    """What the numbers do not say of this scale."""
    seeded: bool = True
    """Whether more seeds than one make sense: closed forms and counts have none."""
    then: tuple[Grid, ...] = ()
    """What is computed after these, in this order."""
    first: int = 0
    """The first seed; that of a search is above those that confirm what it found."""

    def tasks(self, seeds: int | None = None) -> list[Case]:
        """Every case with every seed; `seeds` replaces the grid's own number of them.

        Seed by seed, so that a stop leaves all cases with equally many.
        """
        numbers = range((seeds or self.seeds) if self.seeded else 1)
        own = [Case(c.labels, c.task.with_fields(seed=self.first + n)) for n in numbers for c in self.cases]
        return own + [case for grid in self.then for case in grid.tasks(seeds)]

    def words(self) -> str:
        """The scale in words, made from its numbers: printed beside every result."""
        grids = (self, *self.then)
        runs = [run for grid in grids for case in grid.cases for run in case.task.trainings()]
        parts = [_trained(runs)] if runs else []
        numbers = sorted({grid.seeds for grid in grids})
        parts += [f"{_several(map(str, numbers))} seed{'s' * (numbers[-1] > 1)}"] if self.seeded else []
        return "; ".join(filter(None, (", ".join(parts), self.note)))


def axis(name: str, values: Mapping[Any, Mapping[str, Any]]) -> list[Setting]:
    """A named axis: {label: {field: value}}.

    >>> [s.labels for s in axis("method", {"VAE": {"method": "vae"}, "beta-VAE": {"method": "beta_vae", "beta": 4}})]
    [{'method': 'VAE'}, {'method': 'beta-VAE'}]
    """
    return [Setting({name: label}, changes(fields)) for label, fields in values.items()]


def changes(fields: Mapping[str, Any], where: str = "") -> tuple[Change, ...]:
    """{field: value} as changes, with the place that asks for them."""
    return tuple(Change(field, value, where) for field, value in fields.items())


def product(*axes: Sequence[Setting]) -> list[Setting]:
    """Every combination, the last axis varying first."""
    return [sum(settings[1:], settings[0]) for settings in itertools.product(*axes) if settings]


def trained(
    settings: Iterable[Setting], base: Mapping[str, Any] | Sequence[Change] = (), where: str = ""
) -> list[Case]:
    """A training for every setting; `base` comes before its changes."""
    first = changes(base) if isinstance(base, Mapping) else tuple(base)
    return [Case(s.labels, training((*first, *s.changes), where)) for s in settings]


def training(given: Sequence[Change], where: str = "") -> Trained:
    """The task of a method, data and changes; the last of a name wins."""
    last = {c.field: c for c in given}
    if "seed" in last:
        raise HatchelError(f"{last['seed'].where}.seed: comes from `seeds`; leave it out")
    source = from_dict(Source, last["data"].value, "data")
    rest = [c for c in given if c.field not in ("method", "data", *MEASURE)]
    run = resolve(str(last["method"].value), source, rest, where=where)
    measure: dict[str, Any] = {name: last[name].value for name in MEASURE if name in last}
    return Trained(seed=0, run=run, **measure)


def metrics(*names: str | Mapping[str, Any]) -> tuple[Metric, ...]:
    """Metrics by name or by their fields."""
    return tuple(from_dict(Metric, name, "metrics") for name in names)


def _trained(runs: Sequence[RunSpec]) -> str:
    """`3,000 steps of 32 images, dsprites at 32 px, learning rate 0.001, weights as printed`."""
    steps = _several(f"{run.steps:,}" for run in runs)
    data = _several(_data(run.data) for run in runs)
    rates = _several(f"{getattr(run.optimizer, 'lr', 0):g}" for run in runs)
    scales = _several(WEIGHTS[run.reconstruction_scale] for run in runs if getattr(run.data, "size", 64) < 64)
    images = _several(str(run.batch_size) for run in runs)
    return f"{steps} steps of {images} images, {data}, learning rate {rates}" + f", weights {scales}" * bool(scales)


WEIGHTS = {"printed": "as printed", "64px": "for 64 px"}
"""Below 64 pixels: `reconstruction_scale` in words."""


def _several(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))


def _data(source: Source) -> str:
    size = next((getattr(source, f.name) for f in dataclasses.fields(source) if f.name == "size"), None)
    return f"{source.kind} at {size} px" if size else source.kind
