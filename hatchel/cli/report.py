"""`hatchel report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write: RUN/report.html.")] = None,
    items: Annotated[int, typer.Option("--items", "-n", min=10, help="Items of the data that are encoded.")] = 15_000,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates at most for 95 % intervals; 0: none.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the items drawn and of every classifier.")] = 0,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="A Python file with your own.")] = None,
) -> None:
    """Write one self-contained HTML page about a run: scores, information, losses, reconstructions, traversals.

    [bold]hatchel report runs/mine[/]   [bold]hatchel report runs/mine --out mine.html --bootstrap 0[/]
    """
    from hatchel.cli.assignments import load_plugins

    load_plugins(plugin)
    from hatchel.report.findings import examine
    from hatchel.report.page import write_report
    from hatchel.run import Run

    loaded = Run.load(run, "auto")
    found = examine(loaded, items=items, seed=seed, bootstrap=bootstrap)
    print(f"Report: {write_report(found, out or run / 'report.html')}")
