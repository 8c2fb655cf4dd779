"""`hatchel evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    metrics: Annotated[str, typer.Option(help="Comma-separated, or all.")] = "all",
    items: Annotated[int, typer.Option("--items", "-n", min=10, help="Items of the data that are encoded.")] = 15_000,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for 95 % intervals; 0: none.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the items drawn and of every classifier.")] = 0,
    layers: Annotated[bool, typer.Option("--layers", help="Also score the encoder's inner layers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="A Python file with your own.")] = None,
) -> None:
    """Measure a run: encode once, then every metric on means and samples; stored in RUN/evaluation.json.

    [bold]hatchel evaluate runs/mine --bootstrap 200[/]   [bold]hatchel evaluate runs/mine --metrics mig,dci --layers[/]
    """
    from hatchel.cli.assignments import load_plugins

    load_plugins(plugin)
    from hatchel.evaluation.evaluation import evaluate as measure
    from hatchel.training.run import TrainedRun

    result = measure(TrainedRun.load(run, "auto"), metrics, items=items, bootstrap=bootstrap, seed=seed, layers=layers)
    if as_json:
        print(result.to_json())
    else:
        print(result.table())
        print(f"Stored in {run / 'evaluation.json'}")
