"""Study: a table or figure of a paper, as a grid of tasks and what to make of their frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hatchel.core.errors import HatchelError, unknown
from hatchel.study.claims import Claim
from hatchel.study.frame import Frame, build, labels_of
from hatchel.study.grid import SCALES, Grid, Scale
from hatchel.study.store import PUBLISHED, Store, published, published_record
from hatchel.study.table import Column, Table, differences, table
from hatchel.study.task import Case, Task

STORE = Path("studies")
"""The store, where none is named."""
FILES = (".yaml", ".yml", ".json")
_STUDIES: dict[str, Study] = {}


def _standard(frame: Frame) -> Any:
    """Stands for the tables and figures that are made of the columns alone."""
    raise NotImplementedError


@dataclass(frozen=True)
class Study:
    """A grid by scale; then tables, figures and claims made of the frame alone, so that a report needs no training.

    `smoke` takes seconds and shows that it runs, nothing else; `laptop` has a smaller budget; `paper` the paper's.
    """

    name: str
    about: str
    """What it is about, in a sentence."""
    grid: Callable[[Scale], Grid]
    """The tasks at a scale."""
    columns: tuple[Column, ...] = ()
    """What its table shows, by all labels."""
    claims: Callable[[Frame], list[Claim]] = lambda frame: []
    """What the paper claims, held against the frame."""
    paper: str = ""
    """Authors and year, and the table or figure."""
    title: str = "Mean over seeds with a 95 % interval"
    contrast: str = "method"
    """The label whose values are held against its first; empty: no table of differences."""
    trade: tuple[str, str] | None = ("reconstruction", "mig")
    """Two values drawn against each other; the second is the score by which methods are held against each other."""
    tables: Callable[[Frame], list[Table]] = _standard
    """In place of the table of the columns and the paired differences."""
    figures: Callable[[Frame], Mapping[str, Any]] = _standard
    """In place of box plots of the columns, the trade-off, who wins and which scores agree; matplotlib's by name."""
    more_figures: Callable[[Frame], Mapping[str, Any]] = lambda frame: {}
    """Beside these."""
    file: str = ""
    """Of a study from a file, its path."""
    store: Path | None = None
    """Where its records are; else ./studies, else the published ones."""

    def __init_subclass__(cls, **options: Any) -> None:
        raise HatchelError(
            f"{cls.__name__}: a study is no class since 0.2; write: register(Study(name=..., about=..., grid=..., "
            "columns=...)), as in docs/studies.md"
        )

    def __post_init__(self) -> None:
        if self.tables is _standard:
            object.__setattr__(self, "tables", self._tables)
        if self.figures is _standard:
            object.__setattr__(self, "figures", self._figures)

    @classmethod
    def load(cls, name: str, store: str | Path | None = None) -> Study:
        """A study by its name or by its file; `store` is where its records are, if not in ./studies.

        >>> Study.load("split-encoder").paper
        'Split Encoder 2019, Figs. 3, 4, 6, 7, 9-11'
        """
        if Path(name).suffix.lower() in FILES:
            from hatchel.study.file import read_file

            found = read_file(name)
            if found.name in studies():
                raise HatchelError(f"{name}: name: {found.name!r} is a study of Hatchel's; choose another")
        else:
            known = studies()
            if name not in known:
                raise HatchelError(f"{unknown('study', name, known)}; one's own is a .yaml or .json file")
            found = known[name]
        return replace(found, store=Path(store)) if store else found

    def tasks(self, scale: Scale, seeds: int | None = None) -> list[Case]:
        """Every task with its labels; `seeds` replaces the scale's own number of them."""
        return self.grid(scale).tasks(seeds)

    def words(self, scale: Scale) -> str:
        """What a scale is: steps, pixels, seeds."""
        words = self.grid(scale).words()
        return f"{words}: shows that it runs, says nothing" if scale == "smoke" else words

    def frame(self, scale: Scale | None = None) -> Frame:
        """What was found, one row per value: from its store (./studies, if none was named), else as published.

        Without a scale, the largest that was run.
        """
        folder = self.store or STORE
        if self.store or (folder / "store.json").is_file():
            frame = Store(folder).frame(self.name, scale or "")
            for name in reversed(SCALES):
                found = frame[frame["scale"] == name]
                if len(found):
                    return found.reset_index(drop=True)
        if not self.store:
            if (PUBLISHED / self.name / "results.json").is_file():
                at, found = published(PUBLISHED / self.name)
                if scale in (None, at):
                    return found
            for name in (scale,) if scale else (SCALES[2], SCALES[1]):
                rows = [(c.labels, c.task.seed, published_record(c.task.digest())) for c in self.tasks(name)]
                if len(found := build([row for row in rows if row[2]], self.name, name)):
                    return found
        command = f"hatchel study run {self.target} --scale {scale or 'laptop'}"
        raise HatchelError(f"{self.name}: no records in {folder}, and none were published; first: {command}")

    @property
    def target(self) -> str:
        """What to write on the command line for it."""
        return self.file or self.name

    @property
    def score(self) -> str:
        """What methods are judged by."""
        return self.trade[1] if self.trade else "mig"

    def _tables(self, frame: Frame) -> list[Table]:
        """One by all labels; then each method less the first."""
        found = differences(frame, self.contrast, self.columns, self.score) if self.contrast else None
        return [table(self.title, frame, labels_of(frame), self.columns), *([found] if found else [])]

    def _figures(self, frame: Frame) -> Mapping[str, Any]:
        from hatchel.study.figures import comparison

        return {**comparison(frame, self.columns, self.trade, self.score), **self.more_figures(frame)}


def register(study: Study) -> Study:
    """Make a study known by its name: `hatchel study run NAME`. A plug-in does the same."""
    _STUDIES[study.name] = study
    return study


def studies() -> dict[str, Study]:
    """Every study by name, plug-ins included."""
    Task.members()  # loads the studies' modules, where their tasks are too
    return dict(sorted(_STUDIES.items()))


def chosen(cases: Sequence[Case], wanted: Sequence[str]) -> list[Case]:
    """The cases with one of the values that were named for each label: LABEL=VALUE, as many as there are."""
    named: dict[str, list[str]] = {}
    for text in wanted:
        label, equals, value = text.partition("=")
        if not equals:
            raise HatchelError(f"--only {text}: expected LABEL=VALUE, such as method=RecurD")
        named.setdefault(label, []).append(value)
    for label, values in named.items():
        known = list(dict.fromkeys(f"{c.labels[label]}" for c in cases if label in c.labels))
        if not known:
            raise unknown("label", label, {name for c in cases for name in c.labels}, where="--only")
        for value in values:
            if value not in known:
                raise unknown(label, value, known, where="--only")
    found = [c for c in cases if all(f"{c.labels.get(label)}" in values for label, values in named.items())]
    if not found:
        raise HatchelError(f"--only {' '.join(wanted)}: no task has all of these labels")
    return found
