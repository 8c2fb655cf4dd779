"""A study of one's own, from a YAML or JSON file: methods, the values their fields take, data and seeds."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.fields import parse_yaml, read_fields
from hatchel.core.spec import Count, Spec, from_dict, to_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import holds_list, method_named
from hatchel.metrics.metric import Metric
from hatchel.study.frame import Frame, column, labels_of
from hatchel.study.grid import MEASURE, SCALES, Grid, Scale, Setting, changes, metrics, product, trained
from hatchel.study.study import Study
from hatchel.study.table import Column, Table, differences, table
from hatchel.study.task import Label

SMOKE: Mapping[str, Any] = {"seeds": 1, "items": 200, "snapshots": 1, "steps": 3, "batch_size": 16}
"""What smoke is where the file says nothing else."""
OWN = ("seeds", "items", "metrics", "data", "snapshots")
"""Fields of the file itself that a scale may replace; everything else it names is of the run."""


class Sizes(Spec):
    """Numbers of a file that a scale may replace."""

    seeds: Count = 3
    items: Count = 15_000
    snapshots: Count = 1


class StudyFile(Spec):
    """What a study file holds. The runs are methods x data x product x zip, in this order, the last changes first."""

    name: str
    """What the study is called: letters, digits, - _ and . only."""
    methods: tuple[Mapping[str, Any], ...]
    """Each {method: NAME, parameter or run field: value, label: TEXT}; a list as value is a choice, one method each."""
    data: tuple[Source, ...]
    """A data set, or several."""
    set: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """Parameters of the method and dotted fields of the run, the same for every method."""
    product: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict[str, tuple[Any, ...]])
    """Fields with the values each takes: every combination."""
    zip: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict[str, tuple[Any, ...]])
    """Fields with the values they take together: the first of each, the second of each, ..."""
    seeds: Count = 3
    """Runs of every point, seeds 0, 1, ..."""
    metrics: tuple[Metric, ...] = metrics("mig", "sap", "dci", "factor_vae_score", "reconstruction", "active_units")
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
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise HatchelError(f"name: {self.name!r} has to be a file's name too: use letters, digits, - _ and .")
        if not self.methods:
            raise HatchelError("methods: the grid is empty; name at least one, such as {method: beta_vae, beta: 4}")
        if not self.data:
            raise HatchelError("data: the grid is empty; name a data set, such as dsprites")
        for part in ("product", "zip"):
            for field, values in cast(Mapping[str, tuple[Any, ...]], getattr(self, part)).items():
                if not values:
                    raise HatchelError(f"{part}.{field}: the grid is empty; it needs at least one value")
        lengths = {field: len(values) for field, values in self.zip.items()}
        if len({*lengths.values()}) > 1:
            found = ", ".join(f"{field} has {length}" for field, length in lengths.items())
            raise HatchelError(f"zip: all fields need as many values, but {found}")
        both = next((field for field in self.zip if field in self.product), None)
        if both:
            raise HatchelError(f"zip.{both}: is in product too; keep it in one of them")
        for scale in self.scales:
            if scale not in SCALES:
                raise unknown("scale", scale, SCALES, where="scales")
        for scale in {*self.scales, "laptop"}:
            _refuse_twins(self.grid(cast(Scale, scale)))

    def grid(self, scale: Scale) -> Grid:
        own, fields = self._at(scale)
        settings = product(self._methods(), self._data(own["data"]), *self._fields(), self._zipped())
        free = {change.field for s in settings for change in s.changes if change.field in s.labels}
        taken = next((k for k in self.scales.get(scale, {}) if k in free), None)
        if taken:
            raise HatchelError(f"scales.{scale}.{taken}: is varied in the grid, whose labels would not be true")
        where = f"scales.{scale}"
        last = tuple(c for c in changes(fields, where) if c.field not in free)
        cases = [
            case
            for setting in settings
            for case in trained(
                [Setting(setting.labels, (*setting.changes, *last))],
                (*changes({n: own[n] for n in MEASURE if n in own}, where), *changes(self.set, "set")),
                setting.changes[0].where,
            )
        ]
        return Grid(tuple(cases), own["seeds"], f"{own['items']:,} items measured")

    def _at(self, scale: Scale) -> tuple[dict[str, Any], dict[str, Any]]:
        """The file's own fields with what a scale replaces of them, and the fields of the run that it changes."""
        replaced = {**(SMOKE if scale == "smoke" else {}), **self.scales.get(scale, {})}
        where = f"scales.{scale}"
        own = {k: v for k, v in replaced.items() if k in OWN}
        from_dict(Sizes, {k: v for k, v in own.items() if k in ("seeds", "items", "snapshots")}, where)
        for name, family in (("data", Source), ("metrics", Metric)):
            if name in own:
                own[name] = tuple(from_dict(family, v, f"{where}.{name}") for v in _as_list(own[name]))
        fields = {k: v for k, v in replaced.items() if k not in OWN}
        return {name: own.get(name, getattr(self, name)) for name in (*OWN, "layers")}, fields

    def _methods(self) -> list[Setting]:
        """A method with lists is one for every combination; the label says what was chosen."""
        found: list[Setting] = []
        for number, method in enumerate(self.methods):
            where = f"methods[{number}]"
            if "preset" in method:
                raise HatchelError(f"{where}: `preset` is `method` now: {{method: {method['preset']}, ...}}")
            if "method" not in method:
                raise HatchelError(f"{where}: needs a `method`; `hatchel list methods` shows them")
            name = method_named(str(method["method"]), where).kind
            choices = {field: options_of(name, field, value, where) for field, value in method.items()}
            several = [field for field, options in choices.items() if len(options) > 1]
            for values in itertools.product(*choices.values()):
                own = dict(zip(choices, values, strict=True))
                chosen = {field: labelled(own[field]) for field in several}
                label = " ".join([str(own.pop("label", name)), *(f"{k}={v}" for k, v in chosen.items())])
                found.append(Setting({"method": label, **chosen}, changes(own, where)))
        return found

    def _data(self, sources: Sequence[Source]) -> list[Setting]:
        several = len(sources) > 1
        return [Setting({"data": _variant(s, sources)} if several else {}, changes({"data": s})) for s in sources]

    def _fields(self) -> list[list[Setting]]:
        return [
            [Setting({field: labelled(v)}, changes({field: v}, "product")) for v in values]
            for field, values in self.product.items()
        ]

    def _zipped(self) -> list[Setting]:
        rows = zip(*self.zip.values(), strict=True) if self.zip else [()]
        fields = [dict(zip(self.zip, row, strict=True)) for row in rows]
        return [Setting({k: labelled(v) for k, v in row.items()}, changes(row, "zip")) for row in fields]


def read_file(path: str) -> Study:
    """The study of a file, or a HatchelError that names the file and the field."""
    body = read_fields(Path(path), "those that `hatchel study show grid` prints")
    try:
        return study_of(body, path)
    except HatchelError as error:
        raise HatchelError(text if (text := str(error)).startswith(path) else f"{path}: {text}") from None


def study_of(body: Mapping[str, Any] | str, path: str = "") -> Study:
    """The study of a file's fields; one method, metric or data set needs no list, a method's name no mapping."""
    fields = dict(parse_yaml(body) if isinstance(body, str) else body)
    for name in ("methods", "data", "metrics", "figures"):
        if name in fields:
            fields[name] = [] if fields[name] is None else _as_list(fields[name])
    if "methods" in fields:
        fields["methods"] = [{"method": m} if isinstance(m, str) else m for m in fields["methods"]]
    file = from_dict(StudyFile, fields)
    return Study(
        name=file.name,
        about="A study of one's own: methods, values and data of a YAML file, every metric by method.",
        grid=file.grid,
        tables=partial(_tables, file),
        figures=partial(_figures, file),
        file=path,
    )


def _tables(file: StudyFile, frame: Frame) -> list[Table]:
    """Every metric by method, data and varied field; then each method less the first."""
    columns = [Column(name, name) for name in _measured(file, frame)]
    plain = _plain(file, frame)
    found = differences(plain, "method", columns, columns[0].name) if columns else None
    return [table(f"{file.name}: scores", plain, labels_of(plain), columns), *([found] if found else [])]


def _figures(file: StudyFile, frame: Frame) -> Mapping[str, Any]:
    """Boxes of every metric, each against the reconstruction error, who wins, over training, along a product."""
    from hatchel.study.figures import agreement, boxes, curves, lines, scatter, wins

    names, drawn, wanted = _measured(file, frame), dict[str, Any](), file.figures
    rest = [name for name in names if name != "reconstruction"]
    for shape in ("box", "violin"):
        if shape in wanted:
            ending = " as violins" * (shape == "violin")
            drawn |= {f"{n} by method{ending}": boxes(frame, n, "method", shape=shape) for n in names}
    if "scatter" in wanted and "reconstruction" in names:
        drawn |= {f"{n} against reconstruction": scatter(frame, "reconstruction", n, "method") for n in rest}
    if "wins" in wanted and names:
        drawn |= wins(_plain(file, frame), names[0], names[0])
    if "agreement" in wanted:
        drawn |= agreement(frame, {name: name for name in names})
    if "curves" in wanted and file.snapshots > 1:
        drawn |= {f"{name} over training": curves(frame, name, "method") for name in names}
    numeric = [f for f in (*file.product, *file.zip) if all(isinstance(v, int | float) for v in frame[column(f)])]
    for field in numeric if "lines" in wanted else ():
        drawn |= {f"{name} by {field}": lines(frame, field, name, "method") for name in names}
    return drawn


def _measured(file: StudyFile, frame: Frame) -> list[str]:
    """The scores of the posterior means, in the file's order."""
    heads = frame[(frame["part"] == "") & (frame["representation"] == "mean")]["metric"]
    named = [metric.variant for metric in file.metrics] or sorted({*heads})
    return [name for name in named if name in {*heads}]


def _plain(file: StudyFile, frame: Frame) -> Frame:
    """Without the labels of what was chosen inside a method, which its label says too."""
    kept = {"method", "data", *file.product, *file.zip}
    return frame.drop(columns=[column(label) for label in labels_of(frame) if label not in kept])


def options_of(method: str, field: str, value: Any, where: str = "") -> list[Any]:
    """The values a field is to take: a list is a choice, but where the field itself holds a list, a list of lists is.

    >>> options_of("beta_vae", "beta", [1, 4]), options_of("de_vae", "betas", [1, 10, 40])
    ([1, 4], [[1, 10, 40]])
    """
    if not isinstance(value, list | tuple):
        return [value]
    values = list(cast(Sequence[Any], value))
    if not values:
        raise HatchelError(f"{where}.{field}: the grid is empty; it needs at least one value")
    nested = all(isinstance(v, list | tuple) for v in values)
    return values if nested or not holds_list(method, field) else [values]


def labelled(value: Any) -> Label:
    """A value as a label: numbers stay numbers, so that a figure can have them along an axis.

    >>> labelled("1e-4"), labelled([1, 10]), labelled({"kind": "split", "width": 8}), labelled(True)
    (0.0001, '1, 10', 'split(width=8)', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    plain = to_dict(value)
    if isinstance(plain, list):
        return ", ".join(str(labelled(v)) for v in cast(list[Any], plain))
    if isinstance(plain, dict):
        body = {str(k): v for k, v in cast(dict[Any, Any], plain).items()}
        kind = str(body.pop("kind", ""))
        inner = ", ".join(f"{k}={labelled(v)}" for k, v in body.items())
        return f"{kind}({inner})" if inner else kind
    try:
        return float(plain)
    except (TypeError, ValueError):
        return str(plain)


def _refuse_twins(grid: Grid) -> None:
    """Two runs of the same labels would be one row of a table."""
    seen: set[tuple[tuple[str, Label], ...]] = set()
    for case in grid.cases:
        key = tuple(case.labels.items())
        if key in seen:
            found = ", ".join(f"{k}={v}" for k, v in key)
            raise HatchelError(f"methods: two runs are called {found}; give each a label of its own")
        seen.add(key)


def _as_list(value: Any) -> list[Any]:
    return list(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else [value]


def _variant(source: Source, among: Iterable[Source]) -> str:
    """The kind of a data set, with its options where there are several of that kind."""
    if sum(other.kind == source.kind for other in among) == 1:
        return source.kind
    defaults = {f.name: f.default for f in dataclasses.fields(source)}
    changed = {k: v for k, v in to_dict(source).items() if k != "kind" and v != defaults[k]}
    return f"{source.kind}({', '.join(f'{k}={v}' for k, v in changed.items())})"
