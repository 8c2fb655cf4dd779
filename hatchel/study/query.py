"""SQL over a store: its frame as a read-only SQLite table in memory.

`results` has the columns of the frame without `details`, `finished`, and every field of the task by its dotted path
(`run.latent.dim`, `items`), lists as JSON; `config` is the whole task as JSON.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from typing import Any

import pandas as pd

from hatchel.core.errors import HatchelError
from hatchel.core.fields import dotted
from hatchel.study.frame import Frame
from hatchel.study.store import Store

WIDEST = 1500
"""Columns for fields: SQLite has at most 2000. The rarest beyond that are in `config` alone."""
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""All that a query may do. Attaching, pragmas and every way of writing are refused by SQLite itself."""


def query(store: Store, sql: str) -> Frame:
    """What one SELECT finds."""
    if not (store.folder / "store.json").is_file():
        raise HatchelError(f"{store.folder}: is not a store of studies; name it with --store")
    connection = sqlite3.connect(":memory:")
    try:
        values = store.frame().drop(columns="details")
        fields = _configurations(store, taken={str(c).lower() for c in values.columns})
        values.to_sql("entries", connection, index=False)
        fields.to_sql("configurations", connection, index=False)
        connection.execute("CREATE INDEX by_task ON configurations (task)")
        connection.execute("CREATE VIEW results AS SELECT * FROM entries JOIN configurations USING (task)")
        connection.set_authorizer(_only_reading)
        cursor = connection.execute(sql)
        names = [c[0] for c in cursor.description or ()]
        # As Python's objects: pandas would make floats of integers where one is missing.
        return pd.DataFrame(cursor.fetchall(), columns=pd.Index(names, dtype=object), dtype=object)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _explained(str(error)) from None
    finally:
        connection.close()


def _configurations(store: Store, taken: set[str]) -> Frame:
    """A row for each task: its fields, under names that differ from the frame's by more than case."""
    records = {digest: store.record(digest) for digest in store.digests()}
    flat = {
        digest: {name: _plain(value) for name, value in dotted(record["cell"]).items()}
        for digest, record in records.items()
    }
    counts = Counter(name for fields in flat.values() for name in fields)
    names: dict[str, str] = {}
    used = {*taken, "finished", "config"}
    for name in sorted(n for n, _ in counts.most_common(WIDEST) if n != "seed"):
        shown = name if name.lower() not in used else f"task.{name}"
        if shown.lower() not in used:
            used.add(shown.lower())
            names[name] = shown
    rows = [
        {
            "task": digest,
            "finished": records[digest].get("finished"),
            "config": json.dumps(record["cell"], sort_keys=True),
        }
        | {shown: flat[digest].get(name) for name, shown in names.items()}
        for digest, record in records.items()
    ]
    return pd.DataFrame(rows, columns=pd.Index(["task", "finished", "config", *names.values()]), dtype=object)


def _plain(value: Any) -> Any:
    """As SQLite has it: lists as JSON, truth values as 0 and 1."""
    return json.dumps(value) if isinstance(value, list | dict) else int(value) if isinstance(value, bool) else value


def _only_reading(action: int, first: str | None, second: str | None, base: str | None, trigger: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _explained(text: str) -> HatchelError:
    if any(word in text for word in ("not authorized", "denied", "prohibited", "readonly")):
        return HatchelError("a query may only read (SELECT ...): the store's files are the truth, SQL never writes")
    if "one statement" in text:
        return HatchelError("one statement at a time")
    if text.endswith("no such column: cell"):
        return HatchelError(f"{text}. It is `task` now")
    if "no such column" in text or "no such table" in text:
        return HatchelError(f"{text}. The table is `results`; its columns: hatchel study query --columns")
    return HatchelError(f"SQL: {text}")
