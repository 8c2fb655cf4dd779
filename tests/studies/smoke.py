"""What every study must be able to do, at `smoke`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from hatchel.core.spec import from_dict, to_dict
from hatchel.study.engines.local import Here
from hatchel.study.frame import tasks
from hatchel.study.grid import Scale
from hatchel.study.report import write_report
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.study import Study
from hatchel.study.task import Task

SMOKED = {
    "recurd": ("recurd", "recurd-cost"),
    "recurd, digits": ("downstream-mnist", "domain-generalisation"),
    "devae": ("tc-dimension", "devae", "devae-highdim"),
    "split": ("split-encoder",),
    "hfvae": ("hfvae-scores", "hfvae-terms", "objectives"),
    "hfvae, digits": ("hfvae-features", "hfvae-discrete", "hfvae-zero-shot"),
    "ours": ("precision",),
    "rtc": ("tc-estimators", "tc-bound", "dimension-shutdown", "rtc-vae", "rtc-nets"),
}
"""By paper; those on real digits need their files."""
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


def named(name: str) -> Study:
    """The study as the program finds it."""
    study = Study.load(name)
    assert study.name == name
    return study


def builds(name: str) -> None:
    """At every scale: words for it, tasks that are told apart by labels and seed, JSON that gives the task back."""
    study = named(name)
    assert study.paper
    for scale in SCALES:
        entries = study.tasks(scale)
        assert study.words(scale)
        assert entries
        told = [(json.dumps(dict(e.labels), sort_keys=True), e.task.seed) for e in entries]
        digests = [e.task.digest() for e in entries]
        assert len(set(told)) == len(entries)
        assert len(set(digests)) == len(entries)
        assert len({tuple(e.labels) for e in entries}) == 1
        for entry in _ends(entries):
            assert from_dict(Task, json.loads(json.dumps(to_dict(entry.task)))).digest() == entry.task.digest()
    few, more = study.tasks("smoke", 1), study.tasks("smoke", 2)
    if len(more) > len(few):  # counting and closed forms have no seed
        assert len(few) < len(more) <= 2 * len(few)  # some of a study may have none
        assert {e.task.digest() for e in few} < {e.task.digest() for e in more}
        assert {e.task.seed for e in more} == {0, 1}


def runs(name: str, folder: Path) -> pd.DataFrame:
    """Every task, then everything that is made of the frame; the frame."""
    study, store = named(name), Store(folder / "store")
    entries = study.tasks("smoke")
    tally = run_tasks([e.task for e in entries], store, Here())
    failed = [store.error(e.task.digest()) for e in entries if store.status(e.task.digest()) != "done"]
    assert tally.failed == 0, failed[0]
    frame = store.frame_of(entries, name, "smoke")
    done = tasks(frame)["task"].tolist()
    assert done == [e.task.digest() for e in entries]
    _made_of(study, frame)
    for digest in _ends(done):  # a report may come before the study's end
        one = frame[frame["task"] == digest]
        _made_of(study, one)
        assert all(isinstance(f, Figure) for f in study.figures(one).values())
    _written(study, frame, folder / "report")
    return frame


def _made_of(study: Study, frame: pd.DataFrame) -> None:
    for table in study.tables(frame):
        widths = {len(table.headings), *(len(line) for line in table.texts())}
        assert len(widths) == 1
        assert table.markdown().count("\n") == table.latex().count("\n") - 4 == len(table.rows) + 1
        assert len({line.labels for line in table.rows}) == len(table.rows)
    for verdict in study.verdicts(frame):
        assert verdict.evidence


def _written(study: Study, frame: pd.DataFrame, folder: Path) -> None:
    page = write_report(study, frame, "smoke", folder).read_text()
    figures = sorted(folder.glob("*.png"))  # drawing them once more to know their names would take as long again
    assert page.count("<figure") == len(figures)  # two of one name would be one file
    for path in figures:
        with Image.open(path) as picture:
            assert picture.width > 300
            assert picture.convert("L").getextrema()[0] < 128  # something is drawn
        assert "</svg>" in path.with_suffix(".svg").read_text()
    body = json.loads((folder / "results.json").read_text())
    done = tasks(frame)["task"].tolist()
    assert [cell["cell"] for cell in body["cells"]] == done
    used = {c.name for t in study.tables(frame) for c in t.columns}
    for cell in body["cells"]:
        assert set(cell["values"]) == used & {*frame[frame["task"] == cell["cell"]]["metric"]}
    assert {claim["verdict"] for claim in body["claims"]} <= {"undecided", "not run"}
    assert study.name in (folder / "tables.md").read_text()


def _ends(items: Sequence[Any]) -> list[Any]:
    return [items[0], items[-1]] if len(items) > 1 else list(items)
