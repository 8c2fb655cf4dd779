"""Tables: every kind of column encoded by hand, factors kept out, mistakes named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import from_frame, load
from hatchel.data.table import decoded_frame, encoded_rows, rescaled

pytest.importorskip("pandas")

TEXT = "age,smokes,city,flag,code\n10,0,Rome,True,3\n20,1,Oslo,False,1\n60,1,Rome,True,3\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return path


def test_columns_are_encoded_by_what_they_hold(table: Path) -> None:
    ds = load(table, categorical=["code"])
    assert [(c.name, c.kind_of, c.width) for c in ds.columns] == [
        ("age", "gaussian", 1),
        ("smokes", "bernoulli", 1),
        ("city", "categorical", 2),
        ("flag", "bernoulli", 1),
        ("code", "categorical", 2),
    ]
    deviation = np.std([10, 20, 60])
    expected = [
        [(10 - 30) / deviation, 0, 0, 1, 1, 0, 1],
        [(20 - 30) / deviation, 1, 1, 0, 0, 1, 0],
        [(60 - 30) / deviation, 1, 0, 1, 1, 0, 1],
    ]
    np.testing.assert_allclose(ds.items(np.arange(3)), expected, rtol=1e-6)
    assert ds.shape == (7,)
    assert sum(c.width for c in ds.columns) == 7
    assert ds.likelihood == "columns"
    assert ds.columns[2].values == ("Oslo", "Rome")
    assert (ds.columns[0].mean, ds.columns[0].scale) == (30.0, pytest.approx(deviation))
    assert ds.name == "people"


def test_factors_are_kept_out_of_the_input(table: Path) -> None:
    ds = load(table, factors=["city", "code"], leave_out=["flag"])
    assert [c.name for c in ds.columns] == ["age", "smokes"]
    assert ds.space is not None
    assert ds.space.names == ("city", "code")
    assert ds.space.values == (("Oslo", "Rome"), (1.0, 3.0))
    assert ds.space.kinds == ("discrete", "continuous")
    assert not ds.space.complete
    assert ds.factors(range(3)).tolist() == [[1, 1], [0, 0], [1, 1]]


def test_parquet_is_the_same_table(table: Path, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.read_csv(table).to_parquet(tmp_path / "people.parquet")
    assert load(tmp_path / "people.parquet").fingerprint == load(table).fingerprint


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n,3\n", {}, "'a' has 1 empty cells .NaN., the first in row 1.*missing=drop"),
        ("a\n1\n2\nx\n", {}, r"'a' is not numeric: row 2 is 'x'; correct it, or use data.categorical=\[a\]"),
        ("a\ninf\n2\n", {}, "'a' is infinite in row 0"),
        ("a,b\n", {}, "has no rows"),
        ("", {}, "cannot be read as a table"),
        ("a\n1\n", {"factors": ["b"]}, "unknown column 'b'"),
        ("a\n1\n", {"factors": ["a"]}, "no columns left"),
        ("id\n" + "".join(f"n{i}\n" for i in range(101)), {}, r"101 different texts.*leave_out=\[id\]"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, text: str, options: dict, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(HatchelError, match=message):
        load(tmp_path / "t.csv", **options)


def test_rows_with_empty_cells_can_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n,3\n5,6\n")
    ds = load(tmp_path / "t.csv", missing="drop")
    assert len(ds) == 2
    np.testing.assert_allclose(ds.items(np.arange(2)), [[-1, -1], [1, 1]])


def test_a_broken_parquet_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(HatchelError, match="cannot be read as a table"):
        load(tmp_path / "t.parquet")


def test_another_table_in_the_units_of_the_first() -> None:
    first = from_frame(pd.DataFrame({"a": [0.0, 2, 4], "b": ["x", "y", "x"]}))
    other = from_frame(pd.DataFrame({"a": [4.0, 10, 4], "b": ["y", "x", "x"]}))
    found = rescaled(other, first.columns)
    np.testing.assert_allclose(found.items([0, 1])[:, 0], (np.array([4, 10]) - 2) / np.sqrt(8 / 3), rtol=1e-5)
    np.testing.assert_array_equal(found.items([0, 1])[:, 1:], [[0, 1], [1, 0]])
    for changed in (
        {"a": [1.0, 2, 3], "c": ["x", "y", "x"]},
        {"a": [1.0, 2, 3], "b": ["x", "y", "z"]},
        {"b": ["x", "y", "x"], "a": [1.0, 2, 3]},
    ):
        with pytest.raises(HatchelError, match=r"has other columns than the run was trained on \(first difference: "):
            rescaled(from_frame(pd.DataFrame(changed)), first.columns)


def test_rows_and_frames_go_back_and_forth() -> None:
    frame = pd.DataFrame({"a": [0.0, 2, 5], "b": ["x", "y", "x"], "c": [True, False, True], "d": [0, 1, 0]})
    columns = from_frame(frame).columns
    rows = encoded_rows(frame, columns)
    np.testing.assert_array_equal(rows, [[0, 1, 0, 1, 0], [2, 0, 1, 0, 1], [5, 1, 0, 1, 0]])
    back = decoded_frame(rows, columns)
    assert back.astype(str).equals(frame.astype({"a": float}).astype(str))
    with pytest.raises(HatchelError, match="the column 'b' has 'q', not one of x, y"):
        encoded_rows(frame.assign(b="q"), columns)
    with pytest.raises(HatchelError, match="there is no column 'a', which the run was trained on"):
        encoded_rows(frame.drop(columns="a"), columns)
