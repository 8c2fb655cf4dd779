"""A study of one's own, from a YAML or JSON file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import from_dict, local
from hatchel.study.cells.trained import Trained
from hatchel.study.contrast import agreement, differences, wins
from hatchel.study.grid import SCALES, Grid, as_list
from hatchel.study.store import Entry, Row
from hatchel.study.study import Scale, Study
from hatchel.study.table import Column, Table, table

SUFFIXES = (".yaml", ".yml", ".json")

EXAMPLE = """\
name: example
data: {kind: xy_squares, size: 32}
methods:                                  # a list as value makes one method of each; label is optional
  - vae
  - {preset: beta_vae, beta: [4, 16], label: beta-VAE}
set: {steps: 500, latent.dim: 4}          # any symbol of the methods, any field of `hatchel show vae`
# product: {latent.dim: [4, 8]}           # every combination
# zip: {batch_size: [32, 64], optimizer.lr: [5.0e-4, 1.0e-3]}   # the first of each, the second of each
seeds: 2
metrics: [mig, reconstruction]
figures: [box, scatter, wins, agreement]  # violin; curves (needs snapshots: 5), lines (a product over numbers)
scales:
  smoke: {steps: 5}
  paper: {steps: 20000, seeds: 10}
"""
"""Runs in a minute; `hatchel study show grid` prints it, as a file to start from."""


class GridStudy(Study, kind="grid"):
    """A study of one's own: methods, values and data of a YAML file, every metric by method."""

    scales = {
        "smoke": "3 steps, 200 items, one seed where the file says nothing else: shows that it runs, says nothing",
        "laptop": "as the file says",
        "paper": "as the file says",
    }

    grid: Grid = dataclasses.field(default_factory=lambda: _grid(_parsed(EXAMPLE)))
    """What the file holds."""
    file: str = local(default="")
    """Its path."""

    def check(self) -> None:
        """The words of the scales are this grid's own."""
        object.__setattr__(self, "scales", {scale: self._words(scale) for scale in SCALES})

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Every point with every seed."""
        grid = self.grid.at(scale)
        rest: dict[str, Any] = {name: getattr(grid, name) for name in ("metrics", "items", "layers", "snapshots")}
        return [
            Entry(point.labels, Trained(seed=seed, run=point.run, **rest))
            for point in grid.points(scale)
            for seed in range(seeds or grid.seeds)
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Every metric by method, data and varied field; then each method less the first."""
        columns = [Column(name, name) for name in self._measured(rows)]
        found = differences(self._plain(rows), "method", columns, columns[0].name) if columns else None
        return [table(f"{self.grid.name}: scores", rows, self._labels(rows), columns), *([found] if found else [])]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Boxes of every metric, each against the reconstruction error, who wins, over training, along a product."""
        from hatchel.study.figures import boxes, curves, lines, scatter

        names, drawn, wanted = self._measured(rows), dict[str, Any](), self.grid.figures
        rest = [name for name in names if name != "reconstruction"]
        for shape in ("box", "violin"):
            if shape in wanted:
                ending = " as violins" * (shape == "violin")
                drawn |= {f"{n} by method{ending}": boxes(rows, n, "method", shape=shape) for n in names}
        if "scatter" in wanted and "reconstruction" in names:
            drawn |= {f"{n} against reconstruction": scatter(rows, "reconstruction", n, "method") for n in rest}
        if "wins" in wanted and names:
            drawn |= wins(self._plain(rows), names[0], names[0])
        if "agreement" in wanted:
            drawn |= agreement(rows, {name: name for name in names})
        if "curves" in wanted and self.grid.snapshots > 1:
            drawn |= {f"{name} over training": curves(rows, name, "method") for name in names}
        for field in self._numeric(rows) if "lines" in wanted else ():
            drawn |= {f"{name} by {field}": lines(rows, field, name, "method") for name in names}
        return drawn

    def _measured(self, rows: Sequence[Row]) -> list[str]:
        """The scores of the posterior means, in the file's order."""
        found = {name for row in rows for name in row.values}
        named = [metric.variant for metric in self.grid.metrics] or sorted(n for n in found if not {*n} & {".", "@"})
        return [name for name in named if name in found]

    def _labels(self, rows: Sequence[Row]) -> list[str]:
        """The method says what was chosen inside it; the other labels are of all methods."""
        own = {"data", *self.grid.product, *self.grid.zip}
        return ["method", *dict.fromkeys(k for row in rows for k in row.labels if k in own)]

    def _plain(self, rows: Sequence[Row]) -> list[Row]:
        """With these labels alone."""
        shown = self._labels(rows)
        return [replace(row, labels={k: v for k, v in row.labels.items() if k in shown}) for row in rows]

    def _numeric(self, rows: Sequence[Row]) -> list[str]:
        fields = [*self.grid.product, *self.grid.zip]
        return [f for f in fields if all(isinstance(r.labels.get(f), int | float) for r in rows)]

    def _words(self, scale: Scale) -> str:
        grid, steps = self.grid.at(scale), self.grid.field("steps", scale)
        said = "the methods' own number of" if steps is None else f"{steps:,}" if isinstance(steps, int) else str(steps)
        data = ", ".join(dict.fromkeys(source.kind for source in grid.data))
        what = f"{said} steps on {data}, {grid.items:,} items measured, {grid.seeds} seed{'s' * (grid.seeds > 1)}"
        return f"{what}: shows that it runs, says nothing" if scale == "smoke" else what


def read_study(target: str) -> Study:
    """A study by its name or by its file."""
    path = Path(target)
    members = Study.members()
    if path.suffix.lower() in SUFFIXES:
        try:
            study = GridStudy(grid=_grid(_read(path)), file=target)
        except HatchelError as error:
            said = str(error)
            raise HatchelError(said if said.startswith(target) else f"{target}: {said}") from None
        if study.grid.name in members:
            raise HatchelError(f"{target}: name: {study.grid.name!r} is a study of Hatchel's; choose another")
        return study
    if target not in members:
        raise HatchelError(f"{unknown('study', target, members)}; one's own is a .yaml or .json file")
    return members[target]()


def name_of(study: Study) -> str:
    """What a study is called in a store."""
    return study.grid.name if isinstance(study, GridStudy) else study.kind


def target_of(study: Study) -> str:
    """What to write on the command line for it."""
    return (study.file or study.kind) if isinstance(study, GridStudy) else study.kind


def _grid(body: Mapping[str, Any]) -> Grid:
    """The grid of a file's fields; one method, metric or data set needs no list, a method's name no mapping."""
    fields = dict(body)
    for name in ("methods", "data", "metrics", "figures"):
        if name in fields:
            fields[name] = [] if fields[name] is None else as_list(fields[name])
    if "methods" in fields:
        fields["methods"] = [{"preset": m} if isinstance(m, str) else m for m in fields["methods"]]
    return from_dict(Grid, fields)


def _read(path: Path) -> dict[str, Any]:
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HatchelError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise HatchelError(f"{path}: is not a text file") from None


def _parsed(text: str) -> dict[str, Any]:
    import yaml

    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise HatchelError(f"is not YAML or JSON ({getattr(error, 'problem', None) or 'bad sign'}{line})") from None
    if not isinstance(body, dict):
        raise HatchelError("expected fields and values; `hatchel study show grid` prints an example")
    return {str(k): v for k, v in cast(dict[Any, Any], body).items()}
