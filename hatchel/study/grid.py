"""Grid: methods, the values their fields take, data and seeds, as a study file says them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count, Spec, from_dict, to_dict
from hatchel.data.source import Source
from hatchel.metrics.metric import Metric
from hatchel.study.cells.trained import metrics as named_metrics
from hatchel.study.recipe import Change, described, labelled, options_of
from hatchel.study.store import Label
from hatchel.study.study import Scale
from hatchel.training.spec import RunSpec

SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")
SMOKE: Mapping[str, Any] = {"seeds": 1, "items": 200, "snapshots": 1, "steps": 3, "batch_size": 16}
"""What smoke is where the file does not say."""
OWN = ("seeds", "items", "metrics", "data", "snapshots")
"""Fields of the grid itself that a scale may replace; everything else it names is of the run."""
DEFAULT_METRICS = ("mig", "sap", "dci", "factor_vae_score", "reconstruction", "active_units")


@dataclass(frozen=True)
class Point:
    """One run of a grid before its seed is set."""

    labels: Mapping[str, Label]
    run: RunSpec


class Sizes(Spec):
    """Numbers of a grid that a scale may replace."""

    seeds: Count = 3
    items: Count = 15_000
    snapshots: Count = 1


class Grid(Spec):
    """What a study file holds. The points are methods x data x product x zip, in this order, the last changes first."""

    name: str
    """What the study is called: letters, digits, - _ and . only."""
    methods: tuple[Mapping[str, Any], ...]
    """Each {preset: NAME, symbol or run field: value, label: TEXT}; a list as value is a choice, one method each."""
    data: tuple[Source, ...]
    """A data set, or several."""
    set: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """Symbols and dotted fields of the run, the same for every method."""
    product: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict[str, tuple[Any, ...]])
    """Fields with the values each takes: every combination."""
    zip: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict[str, tuple[Any, ...]])
    """Fields with the values they take together: the first of each, the second of each, ..."""
    seeds: Count = 3
    """Runs of every point, seeds 0, 1, ..."""
    metrics: tuple[Metric, ...] = named_metrics(*DEFAULT_METRICS)
    """What is measured of each run."""
    items: Count = 15_000
    """Items encoded for it."""
    layers: bool = False
    """Also measure the encoder's inner layers."""
    snapshots: Count = 1
    """Times it is measured during training."""
    figures: tuple[Literal["box", "violin", "scatter", "wins", "agreement", "curves", "lines"], ...] = (
        "box", "scatter", "wins", "agreement",
    )  # fmt: skip
    """What is drawn: `wins` by the first metric, `agreement` of all; `curves` needs snapshots, `lines` a product over
    numbers."""
    scales: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])
    """By scale: fields of the run, or seeds, items, metrics, data, snapshots, that differ there."""

    def check(self) -> None:
        """Everything that can be wrong is said before anything is computed."""
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise HatchelError(f"name: {self.name!r} has to be a file's name too: use letters, digits, - _ and .")
        if not self.methods:
            raise HatchelError("methods: the grid is empty; name at least one, such as {preset: beta_vae, beta: 4}")
        if not self.data:
            raise HatchelError("data: the grid is empty; name a data set, such as dsprites")
        for part in ("product", "zip"):
            for field, values in cast(Mapping[str, tuple[Any, ...]], getattr(self, part)).items():
                if not values:
                    raise HatchelError(f"{part}.{field}: the grid is empty; it needs at least one value")
        lengths = {field: len(values) for field, values in self.zip.items()}
        if len({*lengths.values()}) > 1:
            said = ", ".join(f"{field} has {length}" for field, length in lengths.items())
            raise HatchelError(f"zip: all fields need as many values, but {said}")
        both = next((field for field in self.zip if field in self.product), None)
        if both:
            raise HatchelError(f"zip.{both}: is in product too; keep it in one of them")
        for scale in self.scales:
            if scale not in SCALES:
                raise unknown("scale", scale, SCALES, where="scales")
        for scale in {*self.scales, "laptop"}:
            self._refuse_twins(self.at(cast(Scale, scale)).points(cast(Scale, scale)))

    def at(self, scale: Scale) -> Grid:
        """The grid with what a scale replaces of it."""
        where = f"scales.{scale}"
        changes = {k: v for k, v in self._scale(scale).items() if k in OWN}
        from_dict(Sizes, {k: v for k, v in changes.items() if k in ("seeds", "items", "snapshots")}, where)
        for name, family in (("data", Source), ("metrics", Metric)):
            if name in changes:
                changes[name] = tuple(from_dict(family, v, f"{where}.{name}") for v in as_list(changes[name]))
        # Not `with_fields`, which would check the grid again, and that asks for this.
        made = object.__new__(Grid)
        for field in dataclasses.fields(self):
            object.__setattr__(made, field.name, changes.get(field.name, getattr(self, field.name)))
        return made

    def field(self, name: str, scale: Scale) -> Any:
        """What the file says of a field of the run at a scale, where it says one thing for all."""
        return self._scale(scale).get(name, self.set.get(name))

    def points(self, scale: Scale) -> list[Point]:
        """Every run, at a scale."""
        return [
            point
            for number, method in enumerate(self.methods)
            for label, own, chosen in _expanded(method, number)
            for source in self.data
            for varied in self._varied()
            for point in [self._point(number, label, own, chosen, source, varied, scale)]
        ]

    def _point(
        self,
        number: int,
        label: str,
        own: Mapping[str, Any],
        chosen: Mapping[str, Any],
        source: Source,
        varied: Sequence[Change],
        scale: Scale,
    ) -> Point:
        where = f"methods[{number}]"
        free = {*chosen, *(change.field for change in varied)}
        taken = next((k for k in self.scales.get(scale, {}) if k in free), None)
        if taken:
            raise HatchelError(f"scales.{scale}.{taken}: is varied in the grid, whose labels would not be true")
        run_scale = {k: v for k, v in self._scale(scale).items() if k not in (*OWN, *free)}
        changes = [
            *(Change(k, v, "set") for k, v in self.set.items()),
            *(Change(k, v, where) for k, v in own.items() if k not in ("preset", "label")),
            *varied,
            *(Change(k, v, f"scales.{scale}") for k, v in run_scale.items()),
        ]
        labels: dict[str, Label] = {"method": label}
        labels |= {"data": _variant(source, self.data)} if len(self.data) > 1 else {}
        labels |= {k: labelled(v) for k, v in chosen.items()}
        labels |= {change.field: labelled(change.value) for change in varied}
        return Point(labels, described(str(own["preset"]), source, changes, where))

    def _varied(self) -> Iterator[list[Change]]:
        """One value for each field of product and zip."""
        lines = list(zip(*self.zip.values(), strict=True)) if self.zip else [()]
        for values in itertools.product(*self.product.values()):
            for line in lines:
                yield [Change(f, v, "product") for f, v in zip(self.product, values, strict=True)] + [
                    Change(f, v, "zip") for f, v in zip(self.zip, line, strict=True)
                ]

    def _scale(self, scale: Scale) -> dict[str, Any]:
        return {**(SMOKE if scale == "smoke" else {}), **self.scales.get(scale, {})}

    @staticmethod
    def _refuse_twins(points: Sequence[Point]) -> None:
        """Two points of the same labels would be one line of a table."""
        seen: set[tuple[tuple[str, Label], ...]] = set()
        for point in points:
            key = tuple(point.labels.items())
            if key in seen:
                said = ", ".join(f"{k}={v}" for k, v in key)
                raise HatchelError(f"methods: two runs are called {said}; give each a label of its own")
            seen.add(key)


def as_list(value: Any) -> list[Any]:
    """One, or several."""
    return list(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else [value]


def _expanded(method: Mapping[str, Any], number: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """A method with lists as one method for every combination: its label, its fields, and those that were chosen."""
    where = f"methods[{number}]"
    if "preset" not in method:
        raise HatchelError(f"{where}: needs a `preset`; `hatchel list methods` shows them")
    choices = {field: options_of(str(method["preset"]), field, value, where) for field, value in method.items()}
    several = [field for field, options in choices.items() if len(options) > 1]
    for values in itertools.product(*choices.values()):
        own = dict(zip(choices, values, strict=True))
        chosen = {field: own[field] for field in several}
        label = str(own.get("label", own["preset"]))
        yield " ".join([label, *(f"{k}={labelled(v)}" for k, v in chosen.items())]), own, chosen


def _variant(source: Source, among: Sequence[Source]) -> str:
    """The kind of a data set, with its options where there are several of that kind."""
    if sum(other.kind == source.kind for other in among) == 1:
        return source.kind
    defaults = {f.name: f.default for f in dataclasses.fields(source)}
    changed = {k: v for k, v in to_dict(source).items() if k != "kind" and v != defaults[k]}
    return f"{source.kind}({', '.join(f'{k}={v}' for k, v in changed.items())})"
