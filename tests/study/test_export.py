"""Parquet files hold what the answer holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from hatchel.core.errors import HatchelError
from hatchel.study.export import write_parquet
from hatchel.study.index import Answer

ANSWER = Answer(("method", "strength", "value", "layer"), [("a", 10, 0.5, None), ("b", "low", 1, 3)])


def test_a_column_of_several_kinds_becomes_text(tmp_path: Path) -> None:
    write_parquet(ANSWER, tmp_path / "out.parquet")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame.strength.tolist() == ["10", "low"]
    assert frame.value.tolist() == [0.5, 1.0]
    assert frame.layer.isna().tolist() == [True, False]
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]


def test_pandas_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HatchelError, match=r"hatchel\[data\]"):
        write_parquet(ANSWER, tmp_path / "out.parquet")
