"""Every number of the leader board is a mean of the published records; both pages are what the records make."""

from __future__ import annotations

import random
import re
import runpy
import statistics
from pathlib import Path

import pytest

from hatchel.studies.leaderboard import COLUMNS, PUBLISHED, boards, named
from hatchel.studies.pool import pool
from hatchel.study.frame import build
from hatchel.study.store import published_record

ROOT = Path(__file__).parents[1]
BOARD = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")


def test_ten_numbers_of_the_board_are_means_of_records() -> None:
    """The mean is made here from the records' own JSON, by labels, not by the frame."""
    values: dict[tuple[str, str], list[float]] = {}
    for case in pool("laptop").tasks(10):
        record = published_record(case.task.digest())
        if record:
            (setting,) = {*named(build([(case.labels, 0, record)]))["setting"]}
            for column in COLUMNS:
                values.setdefault((setting, column.heading), []).append(record["values"][column.name])
    lines = [line.strip("| ").split(" | ") for line in BOARD.partition("## What others")[0].splitlines() if "|" in line]
    heading, _, *rows = lines
    numbers = [
        (row[0], name, text, row[-1]) for row in rows for name, text in zip(heading[1:-1], row[1:-1], strict=True)
    ]
    for setting, name, text, seeds in random.Random(0).sample(numbers, 10):
        found = values[setting, name]
        digits = len(text.split()[0].partition(".")[2])
        assert text.split()[0] == f"{statistics.fmean(found):.{digits}f}", (setting, name)
        assert len(found) == int(seeds)


def test_the_page_of_comb_is_what_the_records_make() -> None:
    text = (ROOT / "docs" / "comb.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(ROOT / "benchmarks" / "papers" / "comb_page.py"))["filled"]
    assert made(text) == text, "python benchmarks/papers/comb_page.py writes it anew"
    assert "<!-- made: comb-confirm -->" in text


def test_what_others_published_is_told_apart() -> None:
    rows = re.findall(r"^\| (\S.*) \| 0\.\d\d \|.*$", BOARD.partition("## What others")[2], flags=re.MULTILINE)
    assert [row.split(" |")[0] for row in rows] == [name for name, *_ in PUBLISHED]


def test_nothing_run_makes_no_rows() -> None:
    assert boards(build([])) == []


@pytest.mark.parametrize("page", ["results.md", "leaderboard.md"])
def test_the_pictures_of_the_pages_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert all((ROOT / "docs" / name).is_file() for name in re.findall(r"\]\((results/\S+\.png)\)", text))
