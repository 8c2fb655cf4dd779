"""The page of results: what a store says nothing about stays, and what was published can be gone on with."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hatchel.study.store import Store
from hatchel.study.study import Study
from hatchel.study.task import Result

ROOT = Path(__file__).parents[1]
PAGE = """# Results

| [other](#other-paper-1) | laptop | 3 | 1 |  |  |
| [tc-dimension](#tc-dimension-wu-et-al-2023-table-1) | laptop | 1 |  |  | 6 |

## other (paper 1)

As it was.

## tc-dimension (Wu et al. 2023, Table 1)

Old.
"""


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = ROOT / "benchmarks" / "papers"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("results_page", folder / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrote(results: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["results.py", *map(str, words)])
    results.main()


def test_a_page_without_news_is_written_again_to_the_letter(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    (tmp_path / "results.md").write_text(page, encoding="utf-8")
    wrote(results, monkeypatch, "--store", Store(tmp_path / "store").create().folder, "--out", tmp_path)
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == page
    board = "leaderboard.md"
    assert (tmp_path / board).read_text(encoding="utf-8") == (ROOT / "docs" / board).read_text(encoding="utf-8")


def test_news_replace_their_section_alone_and_can_be_gone_on_with(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = Study.load("tc-dimension").tasks("paper", 3)
    first = Store(tmp_path / "first").create()
    first.write_study("tc-dimension", "paper", entries)
    for i, entry in enumerate(entries):
        first.write(entry.task, Result({"tc": 0.25 + i, "truth": 0.5, "error": i - 0.25}, {"curve": [i]}), 1.5)
    (tmp_path / "results.md").write_text(PAGE, encoding="utf-8")
    wrote(results, monkeypatch, "--store", first.folder, "--out", tmp_path)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert [line.split("](")[0] for line in page.splitlines() if line.startswith("| [")] == [
        "| [other",
        "| [tc-dimension",
    ]
    assert "## other (paper 1)\n\nAs it was.\n" in page
    assert "Old." not in page
    assert "| 10 | 0.3 | 9.25 [-13.11, 31.61] | 0.23 | 0.50 | 0.24 | 3 |" in page
    assert "Not run: 63 of the tasks" in page
    wrote(results, monkeypatch, "--store", tmp_path / "second", "--out", tmp_path, "--restore")
    again = Store(tmp_path / "second")
    assert again.digests() == first.digests()
    assert all(again.record(digest) == first.record(digest) for digest in first.digests())
    assert [s["study"] for s in again.studies()] == ["tc-dimension"]
