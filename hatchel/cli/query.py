"""`hatchel study query` and `hatchel study export`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hatchel.cli.options import STUDIES, AsJson, Folder

if TYPE_CHECKING:
    import pandas as pd


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the table `results`.")] = "",
    store: Folder = STUDIES,
    columns: Annotated[bool, typer.Option("--columns", help="Print the names of the columns.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Query a store in SQL. The connection is read-only: no statement can change anything, so none needs escaping.

    `results` has a row for each value of each task of each study: study, scale, task, seed, the labels (method, ...),
    metric (mig, dci.completeness@sample) and its parts base, part, representation, value, seconds, finished and every
    field of the configuration ("run.latent.dim"). `Study.load(NAME).frame()` is the same in Python.

    [bold]hatchel study query "SELECT method, avg(value), count(*) FROM results WHERE metric='mig' GROUP BY method"[/]
    """
    from hatchel.cli.printing import as_text, print_table
    from hatchel.core.errors import HatchelError
    from hatchel.study import query as index
    from hatchel.study.store import Store

    if columns:
        names = list(index.query(Store(store), "SELECT * FROM results LIMIT 0").columns)
        print(json.dumps(names) if as_json else "\n".join(names))
        return
    if not sql:
        raise HatchelError('name a query, such as "SELECT metric, avg(value) FROM results GROUP BY metric"')
    answer = index.query(Store(store), sql)
    if as_csv or as_json:
        print(as_text(answer, "json" if as_json else "csv"), end="")
    else:
        print_table(list(answer.columns), list(answer.itertuples(index=False, name=None)))


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .json or .parquet file to write.")],
    store: Folder = STUDIES,
    sql: Annotated[str, typer.Option("--query", help="What to export.")] = "SELECT * FROM results",
    as_json: AsJson = False,
) -> None:
    """Write the table `results`, or what a query finds, to a file; for pandas, R or a spreadsheet.

    [bold]hatchel study export results.parquet[/]   needs the `data` extra; CSV and JSON do not
    """
    from hatchel.cli.printing import as_text
    from hatchel.core.errors import HatchelError
    from hatchel.core.files import writable_folder, write_text
    from hatchel.study.query import query as find
    from hatchel.study.store import Store

    form = file.suffix.lower().removeprefix(".")
    if form not in ("csv", "json", "parquet"):
        raise HatchelError(f"{file}: the name has to end in .csv, .json or .parquet")
    answer = find(Store(store), sql)
    writable_folder(file.parent)
    if form == "parquet":
        write_parquet(answer, file)
    else:
        write_text(file, as_text(answer, form))
    if as_json:
        print(json.dumps({"file": str(file), "rows": len(answer), "columns": len(answer.columns)}))
    else:
        print(f"{file}: {len(answer)} rows, {len(answer.columns)} columns")


def write_parquet(answer: pd.DataFrame, path: Path) -> None:
    """A Parquet file; a column of several types becomes text."""
    from hatchel.core.files import write_bytes
    from hatchel.core.plugins import extra

    extra("pyarrow", "data", "writing Parquet")
    typed = answer.infer_objects()
    for name in typed.columns:
        kinds = {type(v) for v in answer[name] if v is not None}
        if kinds - {int, float} and len(kinds) > 1:
            typed[name] = [None if v is None else str(v) for v in answer[name]]
    write_bytes(path, typed.to_parquet(index=False))
