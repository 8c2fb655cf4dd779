"""Index: a store's records as one SQL table, derived from its files and only ever read.

`results` has a row for every entry of a study and every value of its cell's record. A cell that belongs to no study
(any more) is there too, with an empty study. Columns: study, scale, cell, seed, metric, value, seconds, finished; the
study's labels by their names (`label.NAME` where another column has that name); every field of the cell by its dotted
path (`run.latent.dim`, `items`), lists as JSON; and `config`, the whole cell as JSON.

The file lies in the user's cache folder, never in the store, which may be on a shared file system. It is written whole
and renamed into its place, and opened as immutable: no lock is ever needed, and two readers never wait.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError
from hatchel.data.cache import cache_folder
from hatchel.study.store import Store

FORMAT = "1"
FIXED = ("study", "scale", "cell", "seed", "metric", "value", "seconds", "finished", "config")
WIDEST = 1500
"""Columns for fields: SQLite has at most 2000. The rarest beyond that are in `config` alone."""
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""All that a query may do. Attaching, pragmas and every way of writing are refused by SQLite itself."""

Value = str | int | float | None


@dataclass(frozen=True)
class Answer:
    """What a query found."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


class Index:
    """The SQL view of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        name = hashlib.sha256(str(store.folder.resolve()).encode()).hexdigest()[:16]
        self.path = cache_folder() / "studies" / f"{name}.sqlite"

    def query(self, sql: str) -> Answer:
        """One SELECT, on a connection that cannot write; the index is made again first if the files have changed."""
        self.refresh()
        with self._reader() as connection:
            try:
                cursor = connection.execute(sql)
                return Answer(tuple(c[0] for c in cursor.description or ()), cursor.fetchall())
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise self._explained(error) from None

    def columns(self) -> list[str]:
        """Of the table `results`."""
        return list(self.query("SELECT * FROM results LIMIT 0").columns)

    def refresh(self) -> bool:
        """Make the index again where the store's files are not those it was made from; whether that was needed."""
        if not (self.store.folder / "store.json").is_file():
            raise HatchelError(f"{self.store.folder}: is not a store of studies; name it with --store")
        state = self._state()
        if self._made_from() == state:
            return False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            try:
                self._write(draft, state)
                draft.replace(self.path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise HatchelError(f"{self.path}: cannot write there ({error.strerror}); set HATCHEL_CACHE") from None
        return True

    def _state(self) -> str:
        """Of all files the index depends on: their names, sizes and times."""
        digest = hashlib.sha256(FORMAT.encode())
        for pattern in ("cells/*/record.json", "studies/*.json"):
            for path in sorted(self.store.folder.glob(pattern)):
                found = path.stat()
                digest.update(f"{path.parent.name}/{path.name} {found.st_size} {found.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def _made_from(self) -> str | None:
        if not self.path.is_file():
            return None
        try:
            with self._reader() as connection:
                return str(connection.execute("SELECT state FROM made_from").fetchone()[0])
        except sqlite3.Error:  # damaged, or of another version: made again
            return None

    @contextlib.contextmanager
    def _reader(self) -> Generator[sqlite3.Connection]:
        connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            connection.set_authorizer(_only_reading)
            yield connection
        finally:
            connection.close()

    def _write(self, path: Path, state: str) -> None:
        records = {digest: _slim(self.store.record(digest)) for digest in self.store.digests()}
        configs = {digest: _flat(record["cell"]) for digest, record in records.items()}
        entries = [(s["study"], s["scale"], e) for s in self.store.studies() for e in s["entries"]]
        listed = {entry["cell"] for _, _, entry in entries}
        entries += [("", "", {"cell": digest, "labels": {}}) for digest in records if digest not in listed]
        fields = _columns(configs.values(), taken=FIXED)
        labels = _columns((e["labels"] for _, _, e in entries), taken=(*FIXED, *fields.values()), prefix="label.")

        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("CREATE TABLE made_from (state TEXT)")
            connection.execute("INSERT INTO made_from VALUES (?)", (state,))
            _table(connection, "cells", ["cell", "seed", "seconds", "finished", "config", *fields.values()], (
                [digest, r["cell"].get("seed"), r["seconds"], r["finished"], json.dumps(r["cell"], sort_keys=True),
                 *(configs[digest].get(name) for name in fields)]
                for digest, r in records.items()
            ))  # fmt: skip
            _table(connection, "entries", ["study", "scale", "cell", *labels.values()], (
                [study, scale, e["cell"], *(e["labels"].get(name) for name in labels)] for study, scale, e in entries
            ))  # fmt: skip
            _table(connection, "measures", ["cell", "metric", "value"], (
                [digest, name, value] for digest, r in records.items() for name, value in sorted(r["values"].items())
            ))  # fmt: skip
            connection.execute("CREATE INDEX by_cell ON measures (cell)")
            connection.execute("CREATE UNIQUE INDEX one_cell ON cells (cell)")
            shown = ["e.study", "e.scale", "e.cell", "c.seed", "m.metric", "m.value", "c.seconds", "c.finished"]
            shown += [f"e.{_quoted(n)}" for n in labels.values()] + [f"c.{_quoted(n)}" for n in fields.values()]
            connection.execute(
                f"CREATE VIEW results AS SELECT {', '.join(shown)}, c.config FROM entries e "
                "JOIN cells c ON c.cell = e.cell JOIN measures m ON m.cell = e.cell"
            )
            connection.commit()
        finally:
            connection.close()

    def _explained(self, error: Exception) -> HatchelError:
        text = str(error)
        if any(word in text for word in ("not authorized", "denied", "prohibited", "readonly")):
            return HatchelError("a query may only read (SELECT ...): the store's files are the truth, SQL never writes")
        if "one statement" in text:
            return HatchelError("one statement at a time")
        if "no such column" in text or "no such table" in text:
            return HatchelError(f"{text}. The table is `results`; its columns: hatchel study query --columns")
        return HatchelError(f"SQL: {text}")


def _only_reading(action: int, first: str | None, second: str | None, base: str | None, trigger: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _slim(record: Mapping[str, Any]) -> dict[str, Any]:
    """Without curves and matrices, which are most of it."""
    return {name: record[name] for name in ("cell", "values", "seconds", "finished")}


def _table(connection: sqlite3.Connection, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    connection.execute(f"CREATE TABLE {name} ({', '.join(_quoted(c) for c in columns)})")
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)


def _columns(bodies: Iterable[Mapping[str, Any]], taken: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Names of fields to names of columns, which SQL tells apart by more than case."""
    counts = Counter(name for body in bodies for name in body)
    common = sorted(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:WIDEST])
    used = {name.lower() for name in taken}
    result: dict[str, str] = {}
    for name in common:
        if not prefix and name == "seed":  # a column of its own
            continue
        column = name if name.lower() not in used else f"{prefix or 'cell.'}{name}"
        while column.lower() in used:
            column += "_"
        used.add(column.lower())
        result[name] = column
    return result


def _flat(value: Mapping[str, Any], path: str = "") -> dict[str, Value]:
    """Dotted names of plain values.

    >>> _flat({"run": {"latent": {"dim": 3}, "compile": False}, "metrics": [{"kind": "mig"}]})
    {'run.latent.dim': 3, 'run.compile': 0, 'metrics': '[{"kind": "mig"}]'}
    """
    result: dict[str, Value] = {}
    for name, part in value.items():
        key = f"{path}{name}"
        if isinstance(part, Mapping) and part:
            result |= _flat(cast(Mapping[str, Any], part), f"{key}.")
        elif isinstance(part, list | Mapping):
            result[key] = json.dumps(part)
        else:
            result[key] = int(part) if isinstance(part, bool) else part
    return result


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
