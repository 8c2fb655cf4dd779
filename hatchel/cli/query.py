"""`hatchel study query` and `hatchel study export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Option("--store", help="The folder that keeps the records.")]
STUDIES = Path("studies")


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT over the table `results`.")] = "",
    store: Folder = STUDIES,
    columns: Annotated[bool, typer.Option("--columns", help="Print the names of the columns.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Ask a store in SQL. The connection is read-only: no statement can change anything, so none needs escaping.

    `results` has a row for each cell and metric of each study: study, scale, cell, seed, metric, value, seconds,
    finished, the labels (method, ...) and every field of the configuration ("run.latent.dim"). It is derived from the
    records and made again whenever they change; its file lies in the cache folder, not in the store.

    [bold]hatchel study query "SELECT method, avg(value), count(*) FROM results WHERE metric='mig' GROUP BY method"[/]
    """
    from hatchel.cli.printing import print_table, written
    from hatchel.core.errors import HatchelError
    from hatchel.study.index import Index
    from hatchel.study.store import Store

    index = Index(Store(store))
    if columns:
        print("\n".join(index.columns()))
        return
    if not sql:
        raise HatchelError('say what to ask, such as "SELECT method, avg(value) FROM results GROUP BY method"')
    answer = index.query(sql)
    if as_csv or as_json:
        print(written(answer, "json" if as_json else "csv"), end="")
    else:
        print_table(answer.columns, answer.rows)


def export(
    file: Annotated[Path, typer.Argument(help="A .csv, .json or .parquet file to write.")],
    store: Folder = STUDIES,
    sql: Annotated[str, typer.Option("--query", help="What to export.")] = "SELECT * FROM results",
) -> None:
    """Write the table `results`, or what a query finds, to a file; for pandas, R or a spreadsheet.

    [bold]hatchel study export results.parquet[/]   needs the `data` extra; CSV and JSON do not
    """
    from hatchel.cli.printing import written
    from hatchel.core.errors import HatchelError
    from hatchel.core.files import writable_folder, write_text
    from hatchel.study.index import Index
    from hatchel.study.store import Store

    form = file.suffix.lower().removeprefix(".")
    if form not in ("csv", "json", "parquet"):
        raise HatchelError(f"{file}: the name has to end in .csv, .json or .parquet")
    answer = Index(Store(store)).query(sql)
    writable_folder(file.parent)
    if form == "parquet":
        from hatchel.study.export import write_parquet

        write_parquet(answer, file)
    else:
        write_text(file, written(answer, form))
    print(f"{file}: {len(answer.rows)} rows, {len(answer.columns)} columns")
