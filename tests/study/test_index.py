"""The index holds exactly what the records hold, and nobody can write through it."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.study.engines.here import Here
from hatchel.study.index import Index
from hatchel.study.runner import run_cells
from hatchel.study.store import Entry, Store
from tests.study.coin import Coin, Metal

LABELS = {0.25: "unfair", 0.5: "fair"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two coins with three seeds in a study, one coin in none."""
    made = Store(tmp_path / "store")
    entries = [
        Entry({"method": name, "bias": name.upper(), "Seed": "s"}, Coin(seed=seed, bias=bias, metal=Metal(weight=2)))
        for bias, name in LABELS.items()
        for seed in range(3)
    ]
    run_cells([*(e.cell for e in entries), Coin(seed=9)], made, Here())
    made.write_study("coins", "laptop", entries)
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_rows_are_the_records(store: Store) -> None:
    found = Index(store).query("SELECT study, scale, cell, seed, metric, value, seconds, finished FROM results").rows
    expected = []
    for digest in store.digests():
        record = store.record(digest)
        study = ("coins", "laptop") if record["cell"]["metal"]["weight"] == 2 else ("", "")
        rest = (record["seconds"], record["finished"])
        expected += [(*study, digest, record["cell"]["seed"], k, v, *rest) for k, v in record["values"].items()]
    assert len(found) == 7 * 2
    assert sorted(found) == sorted(expected)  # pyright: ignore


def test_labels_and_fields_are_columns(store: Store) -> None:
    index = Index(store)
    sql = (
        'SELECT DISTINCT method, "label.bias", bias, "metal.weight", "metal.alloy", broken FROM results WHERE study<>""'
    )
    assert sorted(index.query(sql).rows) == [  # pyright: ignore
        ("fair", "FAIR", 0.5, 2.0, '["copper"]', 0),
        ("unfair", "UNFAIR", 0.25, 2.0, '["copper"]', 0),
    ]
    assert index.columns() == [
        "study", "scale", "cell", "seed", "metric", "value", "seconds", "finished",
        "label.Seed", "label.bias", "method", "bias", "broken", "kind", "metal.alloy", "metal.weight", "config",
    ]  # fmt: skip
    config = index.query("SELECT config, cell FROM results LIMIT 1").rows[0]
    assert json.loads(str(config[0])) == store.record(str(config[1]))["cell"]


def test_an_aggregate_equals_numpys(store: Store) -> None:
    which = "metric = 'heads' AND study <> ''"
    sql = f"SELECT method, avg(value), count(*), max(value) FROM results WHERE {which} GROUP BY method"
    rows = Index(store).query(sql).rows
    records = [store.record(d) for d in store.digests()]
    for method, mean, count, largest in rows:
        bias = next(b for b, name in LABELS.items() if name == method)
        kept = [r for r in records if r["cell"]["bias"] == bias and r["cell"]["metal"]["weight"] == 2]
        values = np.array([r["values"]["heads"] for r in kept])
        assert (mean, count, largest) == (pytest.approx(values.mean()), len(values), values.max())
    assert len(rows) == 2


def test_rebuilding_gives_the_same_table(store: Store) -> None:
    def dump(index: Index) -> list[str]:
        with sqlite3.connect(index.path) as connection:
            lines = list(connection.iterdump())
        connection.close()
        return lines

    index = Index(store)
    assert index.refresh()
    first = dump(index)
    assert not index.refresh()
    index.path.unlink()
    assert index.refresh()
    assert dump(index) == first
    index.path.write_bytes(b"not a database at all" * 100)
    assert index.refresh()
    assert dump(index) == first


def test_a_new_record_is_seen(store: Store) -> None:
    index = Index(store)
    count = "SELECT count(DISTINCT cell) FROM results"
    assert index.query(count).rows == [(7,)]
    run_cells([Coin(seed=11)], store, Here())
    assert index.query(count).rows == [(8,)]
    record = next((store.folder / "cells").glob("*/record.json"))
    record.unlink()
    assert index.query(count).rows == [(7,)]


def test_it_lies_in_the_cache_folder_not_in_the_store(store: Store) -> None:
    before = files(store.folder)
    index = Index(store)
    index.query("SELECT * FROM results")
    assert files(store.folder) == before
    assert index.path.is_relative_to(os.environ["HATCHEL_CACHE"])
    assert Index(Store(store.folder / ".." / store.folder.name)).path == index.path


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE measures",
        "DROP VIEW results",
        "DELETE FROM measures",
        "INSERT INTO measures VALUES ('a', 'b', 1)",
        "UPDATE measures SET value = 1",
        "CREATE TABLE mine (x)",
        "CREATE TEMP TABLE mine (x)",
        "ATTACH DATABASE '{other}' AS other",
        "PRAGMA writable_schema = 1",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = WAL",
        "VACUUM INTO '{other}'",
        "SELECT load_extension('{other}')",
        "WITH gone AS (SELECT cell FROM cells) DELETE FROM measures",
        "BEGIN IMMEDIATE",
        "SELECT 1; DROP TABLE measures",
        "REINDEX",
        "ANALYZE",
    ],
)
def test_writing_is_refused(store: Store, tmp_path: Path, sql: str) -> None:
    index = Index(store)
    index.refresh()
    before, kept = files(store.folder), index.path.read_bytes()
    other = tmp_path / "other.db"
    with pytest.raises(HatchelError, match=r"may only read|one statement at a time"):
        index.query(sql.format(other=other))
    assert files(store.folder) == before
    assert index.path.read_bytes() == kept
    assert not other.exists()


def test_mistakes_in_a_query(store: Store, tmp_path: Path) -> None:
    index = Index(store)
    with pytest.raises(HatchelError, match=r"no such column: mig. .*--columns"):
        index.query("SELECT mig FROM results")
    with pytest.raises(HatchelError, match=r"SQL: near .SELEC."):
        index.query("SELEC 1")
    with pytest.raises(HatchelError, match="is not a store of studies"):
        Index(Store(tmp_path)).query("SELECT 1")


def test_names_in_sql_are_only_names(store: Store) -> None:
    """A label called like SQL is a column of that name."""
    name = 'x"); DROP TABLE cells; --'
    store.write_study("evil", "laptop", [Entry({name: "here"}, Coin(seed=9))])
    index = Index(store)
    assert name in index.columns()
    assert index.query("SELECT count(*) FROM cells").rows == [(7,)]
