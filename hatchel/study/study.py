"""Study: a table or figure of a paper, as a grid of tasks and what to make of their frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hatchel.core.errors import HatchelError, unknown
from hatchel.study.claims import Claim, Verdict, verdicts
from hatchel.study.frame import Frame, build, labels_of
from hatchel.study.grid import SCALES, Grid, Scale
from hatchel.study.store import PUBLISHED, Store, published, published_record
from hatchel.study.table import Column, Table, differences, table
from hatchel.study.task import Case, Task

STORE = Path("studies")
"""The store, where none is named."""
MOST_SEEDS = 10
"""Looked for among published records."""
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
    claims: tuple[Claim, ...] = ()
    """What the paper claims."""
    paper: str = ""
    """Authors and year, and the table or figure."""
    title: str = "Mean over seeds with a 95 % interval"
    contrast: str = ""
    """The label whose values are held against its first, such as method; empty: no table of differences."""
    trade: tuple[str, str] | None = ("reconstruction", "mig")
    """Two values drawn against each other; the second is the score by which methods are held against each other."""
    tables: Callable[[Frame], list[Table]] = _standard
    """In place of the table of the columns and the paired differences."""
    figures: Callable[[Frame], Mapping[str, Any]] = _standard
    """In place of box plots of the columns, the trade-off, who wins and which scores agree; matplotlib's by name."""
    more_figures: Callable[[Frame], Mapping[str, Any]] = lambda frame: {}
    """Beside these."""
    following: Callable[[Scale, Frame], Sequence[Case]] = lambda scale, frame: ()
    """The tasks that results so far ask for, as a round of a search asks for the next; called again with theirs."""
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
        'Split Encoder 2019, Figs. 2-4, 6, 7, 9-11'
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

    def tasks(self, scale: Scale, seeds: int | None = None, store: Store | None = None) -> list[Case]:
        """Every task with its labels; `seeds` replaces the scale's own number of them.

        With a store also those that follow from its records, once all before them are done or have failed.
        """
        cases = self.grid(scale).tasks(seeds)
        while store and all(store.status(c.task.digest()) != "waiting" for c in cases):
            if not (more := self._following(scale, cases, store.frame_of(cases))):
                break
            cases += more
        return cases

    def _following(self, scale: Scale, cases: Sequence[Case], frame: Frame) -> list[Case]:
        known = {c.task.digest() for c in cases}
        return [c for c in self.following(scale, frame) if c.task.digest() not in known] if len(frame) else []

    def words(self, scale: Scale) -> str:
        """What a scale is: steps, pixels, seeds."""
        words = self.grid(scale).words()
        return f"{words}: shows that it runs, says nothing" if scale == "smoke" else words

    def frame(self, scale: Scale | None = None) -> Frame:
        """What was found, one row per value: from its store (./studies, if none was named), else as published.

        Without a scale, the largest that was run; of what other studies computed, or was published, the most seeds.
        """
        found = self.found(scale)
        if not len(found):
            command = f"hatchel study run {self.target} --scale {scale or 'laptop'}"
            where = self.store or STORE
            raise HatchelError(f"{self.name}: no records in {where}, and none were published; first: {command}")
        return found

    def found(self, scale: Scale | None = None) -> Frame:
        """The same, empty where there is nothing."""
        folder = self.store or STORE
        kept = Store(folder) if self.store or (folder / "store.json").is_file() else None
        frame = kept.frame(self.name, scale or "") if kept else build(())
        for name in reversed(SCALES):
            found = frame[frame["scale"] == name]
            if len(found):
                return found.reset_index(drop=True)
        # Tasks of another study that was run, or published one by one, with more seeds too; a few of a larger scale,
        # which another study happens to share, do not hide a smaller one that has more seeds.
        best = build(())
        for name in (scale,) if scale else SCALES[:0:-1]:
            cases, more, found = list[Case](), self.tasks(name, MOST_SEEDS), build(())
            while more:
                cases += more
                records = [(c.labels, c.task.seed, self._record(kept, c.task.digest())) for c in cases]
                found = build([r for r in records if r[2]], self.name, name)
                more = self._following(name, cases, found)
            best = found if found["seed"].nunique() > best["seed"].nunique() else best
        if len(best):
            return best
        if not self.store and (PUBLISHED / self.name / "results.json").is_file():
            at, found = published(PUBLISHED / self.name)
            if scale in (None, at):
                return found
        return build(())

    def _record(self, kept: Store | None, digest: str) -> dict[str, Any]:
        if kept and kept.status(digest) == "done":
            return kept.record(digest)
        return {} if self.store else published_record(digest)

    def verdicts(self, frame: Frame) -> list[Verdict]:
        """Its claims held against the frame; `registry` has those of the paper's other studies beside them."""
        return verdicts((claim, frame) for claim in self.claims)

    @property
    def target(self) -> str:
        """What to write on the command line for it."""
        return self.file or self.name

    @property
    def score(self) -> str:
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


def registry(wanted: Sequence[str] = (), store: Path | None = None) -> list[Verdict]:
    """The claims that words name (all, without any), held against a store, ./studies, or the published records.

    They are corrected among all claims of their paper. What was run at `smoke` alone was not run.
    """
    known = {claim.id: claim for study in studies().values() for claim in study.claims}
    for word in wanted:
        if not any(claim.named(word) for claim in known.values()):
            raise unknown("claim or paper", word, {*known, *(claim.paper for claim in known.values())})
    chosen = [claim for claim in known.values() if not wanted or any(claim.named(word) for word in wanted)]
    papers = {claim.paper for claim in chosen}
    found: list[tuple[Claim, Frame]] = []
    for study in studies().values():
        if own := [claim for claim in study.claims if claim.paper in papers]:
            frame = replace(study, store=store).found()
            found += [(claim, frame[frame["scale"] != "smoke"]) for claim in own]
    asked = [verdict for verdict in verdicts(found) if verdict.claim in chosen]
    return sorted(asked, key=lambda v: (v.claim.paper, v.claim.order))


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
