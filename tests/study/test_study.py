"""The standard tables and figures of a study, and where it finds its records."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.study.frame import estimate, select
from hatchel.study.grid import Grid, Scale
from hatchel.study.store import Store, published
from hatchel.study.study import Study
from hatchel.study.table import Column
from hatchel.study.task import Case, Result
from tests.study.coin import Coin
from tests.study.made import both, rows
from tests.study.toy import Toy

STUDY = Study(
    name="two-methods",
    about="Two methods.",
    grid=lambda scale: Grid((Case({"method": "a", "beta": 2}, Coin(seed=0)),), 2),
    columns=(Column("mig", "MIG", {("a", 2): 0.4}), Column("never", "never measured")),
    trade=("rec", "mig"),
)
ROWS = both(
    rows({"method": "a", "beta": 2}, mig=[0.1, 0.3], rec=[5.0, 6.0]),
    rows({"method": "b", "beta": 0.5}, mig=[0.2], rec=[7.0]),
)


def test_tables_and_figures():
    table = STUDY.tables(ROWS)[0]
    assert table.by == ("method", "beta")
    assert table.rows[0].paper == (0.4, None)
    drawn = STUDY.figures(ROWS)
    assert list(drawn) == ["MIG", "rec against MIG"]  # no figure of what was not measured
    axes = drawn["MIG"].axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a · 2  (n=2)", "b · 0.5  (n=1)"]
    diamonds = [line.get_xdata() for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert np.allclose(diamonds, [[0.4]])  # the paper's figure finds its row by all its labels


def test_published_records_are_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # there is no ./studies
    frame = Study.load("tc-bound").frame()
    assert set(frame["scale"]) == {"paper"}
    found = estimate(select(frame, epsilon=0.1), "mean")
    assert found is not None
    assert (found.n, round(found.value, 6)) == (10, round(np.mean(_values("tc-bound", "mean", epsilon=0.1)), 6))
    with pytest.raises(HatchelError, match=r"tc-bound: no records in studies.* --scale laptop"):
        Study.load("tc-bound").frame("laptop")


def _values(name: str, value: str, **labels: float) -> list[float]:
    body = json.loads((Path(__file__).parents[2] / "docs" / "results" / name / "results.json").read_text())
    return [cell["values"][value] for cell in body["cells"] if cell["labels"] == labels]


def test_a_store_comes_first_and_the_largest_scale_of_it(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    for scale, bias in (("smoke", 0.1), ("laptop", 0.2)):
        task = Coin(seed=0, bias=bias)
        store.write(task, Result({"heads": bias}), 1.0)
        store.write_study("tc-bound", scale, [Case({"epsilon": 1.0}, task)])
    study = Study.load("tc-bound", tmp_path)
    assert study.frame()["value"].tolist() == [0.2]
    assert study.frame("smoke")["value"].tolist() == [0.1]
    everything = store.frame()
    assert everything[["study", "scale", "value"]].values.tolist() == [
        ["tc-bound", "laptop", 0.2], ["tc-bound", "smoke", 0.1],
    ]  # fmt: skip
    with pytest.raises(HatchelError, match="no records in"):
        Study.load("tc-dimension", tmp_path).frame()


def test_a_record_written_by_the_first_release_still_loads(tmp_path: Path) -> None:
    """Its task has fields that no task has today: the frame does not need them."""
    record = json.loads((Path(__file__).parent / "record-0.1.json").read_text())
    assert record["hatchel"].startswith("0.1")
    store = Store(tmp_path / "store").create()
    store.keep(record)
    store.list_study("old", "laptop", [({"method": "DeVAE"}, 0, record["digest"])])
    frame = store.frame("old")
    assert frame["value"].tolist() == list(record["values"].values())
    assert frame[["study", "scale", "method", "seed", "task"]].drop_duplicates().values.tolist() == [
        ["old", "laptop", "DeVAE", 0, record["digest"]]
    ]
    folder = tmp_path / "published"
    folder.mkdir()
    cells = [{"labels": {"method": "DeVAE"}, "seed": 0, "cell": record["digest"], "values": {}}]
    body = {"study": "old", "facts": {"Scale": "laptop: so many steps"}, "cells": cells}
    (folder / "results.json").write_text(json.dumps(body))
    (folder / "records.json.gz").write_bytes(gzip.compress(json.dumps([record]).encode()))
    scale, again = published(folder)
    assert scale == "laptop"
    assert again["value"].tolist() == frame["value"].tolist()


def test_a_view_finds_the_tasks_of_another_study_in_the_store_with_all_their_seeds(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    case = next(c for c in Study.load("rtc-vae").tasks("laptop") if c.labels["method"] == "RTC-VAE")
    for seed in (0, 7):  # more seeds than the view's own five
        store.write(case.task.with_fields(seed=seed), Result({"mig": 0.1 * seed}), 1.0)
    found = Study.load("rtc-vae", tmp_path).frame()
    assert found[["method", "seed", "value"]].values.tolist() == [
        ["RTC-VAE", 0, 0.0],
        ["RTC-VAE", 7, pytest.approx(0.7)],
    ]


def test_a_few_records_of_a_larger_scale_do_not_hide_more_seeds_of_a_smaller(tmp_path: Path) -> None:
    """They may be another study's, which shares the task."""
    log = {"smoke": "s", "laptop": "l", "paper": "p"}
    study = dataclasses.replace(
        STUDY,
        grid=lambda scale: Grid((Case({"method": "a"}, Toy(seed=0, log=log[scale])),), 5),
        store=tmp_path / "store",
    )
    store = Store(tmp_path / "store").create()

    def compute(scale: Scale, seeds: range) -> None:
        for case in study.tasks(scale, 10):
            if case.task.seed in seeds:
                store.write(case.task, Result({"mig": 0.5}), 1.0)

    compute("paper", range(2))
    assert {*study.found()["scale"]} == {"paper"}
    compute("laptop", range(5))
    assert [*study.found()["scale"]] == ["laptop"] * 5
    compute("paper", range(2, 5))
    assert [*study.found()["scale"]] == ["paper"] * 5
