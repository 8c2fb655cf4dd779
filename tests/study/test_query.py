"""A query reads exactly what the records hold, and nobody can write through it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.study.engines.here import Here
from hatchel.study.query import query
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Case
from tests.study.coin import Coin, Metal

LABELS = {0.25: "unfair", 0.5: "fair"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two coins with three seeds in a study, one coin in none."""
    made = Store(tmp_path / "store")
    entries = [
        Case({"method": name, "bias": name.upper(), "Hue": "s"}, Coin(seed=seed, bias=bias, metal=Metal(weight=2)))
        for bias, name in LABELS.items()
        for seed in range(3)
    ]
    run_tasks([*(e.task for e in entries), Coin(seed=9)], made, Here())
    made.write_study("coins", "laptop", entries)
    return made


def found(store: Store, sql: str) -> list[tuple]:
    return list(query(store, sql).itertuples(index=False, name=None))


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_rows_are_the_records(store: Store) -> None:
    rows = found(store, "SELECT study, scale, task, seed, name, value, seconds, finished FROM results")
    expected = []
    for digest in store.digests():
        record = store.record(digest)
        study = ("coins", "laptop") if record["cell"]["metal"]["weight"] == 2 else ("", "")
        rest = (record["seconds"], record["finished"])
        expected += [(*study, digest, record["cell"]["seed"], k, v, *rest) for k, v in record["values"].items()]
    assert len(rows) == 7 * 2
    assert sorted(rows) == sorted(expected)


def test_labels_and_fields_are_columns(store: Store) -> None:
    sql = (
        'SELECT DISTINCT method, bias, "task.bias", "metal.weight", "metal.alloy", broken FROM results WHERE study<>""'
    )
    assert sorted(found(store, sql)) == [
        ("fair", "FAIR", 0.5, 2.0, '["copper"]', 0),
        ("unfair", "UNFAIR", 0.25, 2.0, '["copper"]', 0),
    ]
    assert list(query(store, "SELECT * FROM results LIMIT 0").columns) == [
        "study", "scale", "task", "seed", "method", "bias", "Hue", "name", "metric", "part", "representation", "value",
        "low", "high", "n", "seconds", "finished", "config", "task.bias", "broken", "kind", "metal.alloy",
        "metal.weight",
    ]  # fmt: skip
    config = found(store, "SELECT config, task FROM results LIMIT 1")[0]
    assert json.loads(str(config[0])) == store.record(str(config[1]))["cell"]


def test_an_aggregate_equals_numpys(store: Store) -> None:
    which = "metric = 'heads' AND study <> ''"
    sql = f"SELECT method, avg(value), count(*), max(value) FROM results WHERE {which} GROUP BY method"
    rows = found(store, sql)
    records = [store.record(d) for d in store.digests()]
    for method, mean, count, largest in rows:
        bias = next(b for b, name in LABELS.items() if name == method)
        kept = [r for r in records if r["cell"]["bias"] == bias and r["cell"]["metal"]["weight"] == 2]
        values = np.array([r["values"]["heads"] for r in kept])
        assert (mean, count, largest) == (pytest.approx(values.mean()), len(values), values.max())
    assert len(rows) == 2


def test_a_new_record_is_seen(store: Store) -> None:
    count = "SELECT count(DISTINCT task) FROM results"
    assert found(store, count) == [(7,)]
    run_tasks([Coin(seed=11)], store, Here())
    assert found(store, count) == [(8,)]
    record = next((store.folder / "cells").glob("*/record.json"))
    record.unlink()
    assert found(store, count) == [(7,)]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE entries",
        "DROP VIEW results",
        "DELETE FROM entries",
        "INSERT INTO entries VALUES ('a', 'b', 1)",
        "UPDATE entries SET value = 1",
        "CREATE TABLE mine (x)",
        "CREATE TEMP TABLE mine (x)",
        "ATTACH DATABASE '{other}' AS other",
        "PRAGMA writable_schema = 1",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = WAL",
        "VACUUM INTO '{other}'",
        "SELECT load_extension('{other}')",
        "WITH gone AS (SELECT task FROM configurations) DELETE FROM entries",
        "BEGIN IMMEDIATE",
        "SELECT 1; DROP TABLE entries",
        "REINDEX",
        "ANALYZE",
    ],
)
def test_writing_is_refused(store: Store, tmp_path: Path, sql: str) -> None:
    before = files(store.folder)
    other = tmp_path / "other.db"
    with pytest.raises(HatchelError, match=r"may only read|one statement at a time"):
        query(store, sql.format(other=other))
    assert files(store.folder) == before
    assert not other.exists()


def test_mistakes_in_a_query(store: Store, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"no such column: cell. It is `task` now"):
        query(store, "SELECT cell FROM results")
    with pytest.raises(HatchelError, match=r"no such column: mig. .*--columns"):
        query(store, "SELECT mig FROM results")
    with pytest.raises(HatchelError, match=r"SQL: near .SELEC."):
        query(store, "SELEC 1")
    with pytest.raises(HatchelError, match="is not a store of studies"):
        query(Store(tmp_path), "SELECT 1")


def test_names_in_sql_are_only_names(store: Store) -> None:
    """A label called like SQL is a column of that name."""
    name = 'x"); DROP TABLE entries; --'
    store.write_study("evil", "laptop", [Case({name: "here"}, Coin(seed=9))])
    assert name in query(store, "SELECT * FROM results LIMIT 0")
    assert found(store, "SELECT count(*) FROM configurations") == [(7,)]
