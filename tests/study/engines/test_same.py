"""Local, Dask and this process write the same records; Ray and Slurm are held to it in tests/cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hatchel.study.engines.dask import Dask
from hatchel.study.engines.local import Here, Local
from tests.study.engines import same


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("same")


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    return same.records(Here(), folder, same.cells(folder))


@pytest.mark.parametrize("engine", [Local(workers=1), Dask(workers=1)], ids=lambda e: e.kind)
def test_the_records_are_those_of_this_process(engine: Local | Dask, folder: Path, expected: dict[str, Any]) -> None:
    assert len(expected) == 4
    assert same.records(engine, folder, same.cells(folder)) == expected
