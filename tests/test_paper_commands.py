"""The five commands of benchmarks/papers: the cells that they say decide a claim are there."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hatchel.study.study import Study, chosen
from hatchel.study.task import Case

FOLDER = Path(__file__).parents[1] / "benchmarks" / "papers"


@pytest.mark.parametrize("name", ["recurd", "devae", "hfvae", "rtc_vae", "split_encoder"])
def test_deciding_cells_are_cells_of_their_studies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    stand_in = ModuleType("claims")
    stand_in.main = lambda about, studies: asked.append((about, studies))  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "claims", stand_in)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    ((about, studies),) = asked
    assert "20" in about  # the year of the paper
    cells = [e.task for study, deciding in studies.items() for e in chosen(entries(study), deciding)]
    assert {cell.seed for cell in cells} == {0, 1, 2}  # enough to decide
    # A training takes one core about a minute, RecurD's and that of a thousand dimensions three.
    runs = {run.digest(): run for cell in cells for run in cell.trainings()}.values()
    minutes = sum(3 if run.name == "recurd" or run.latent.width > 100 else 1 for run in runs)
    assert minutes <= 40  # 20 on two cores


def entries(study: str) -> list[Case]:
    return Study.load(study).tasks("laptop")
