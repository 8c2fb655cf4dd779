"""`hatchel evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    metrics: Annotated[str, typer.Option(help="Comma-separated, or all.")] = "all",
    items: Annotated[int, typer.Option("--items", "-n", min=10, help="Items of the data that are encoded.")] = 15_000,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0, help="Replicates at most for 95 % intervals; 0: none; by default as many as suit each metric."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the items drawn and of every classifier.")] = 0,
    layers: Annotated[bool, typer.Option("--layers", help="Also score the encoder's inner layers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")] = None,
) -> None:
    """Measure a run: every metric on means and samples, with intervals; stored in RUN/evaluation.json.

    What is stored is read, here and by report, explore and export; only what is missing is measured.

    [bold]hatchel evaluate runs/mine[/]   [bold]hatchel evaluate runs/mine --metrics mig,dci --layers[/]
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
        if (run / "evaluation.json").is_file():
            print(f"Stored in {run / 'evaluation.json'}")
