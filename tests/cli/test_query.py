"""Parquet files hold what the answer holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from hatchel.cli.query import write_parquet
from hatchel.core.errors import HatchelError

COLUMNS = ["method", "strength", "value", "layer"]
ANSWER = pd.DataFrame([("a", 10, 0.5, None), ("b", "low", 1, 3)], columns=pd.Index(COLUMNS), dtype=object)


def test_a_column_of_several_kinds_becomes_text(tmp_path: Path) -> None:
    write_parquet(ANSWER, tmp_path / "out.parquet")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame.strength.tolist() == ["10", "low"]
    assert frame.value.tolist() == [0.5, 1.0]
    assert frame.layer.isna().tolist() == [True, False]
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]


def test_pyarrow_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HatchelError, match=r"needs pyarrow: pip install .hatchel\[data\]"):
        write_parquet(ANSWER, tmp_path / "out.parquet")
