"""`hatchel report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hatchel.training.run import TrainedRun


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; several are compared.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file to write; by default RUN/report.html, or comparison.html for several runs."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="A folder for all figures as PNG and SVG, and traversals as GIF and WebP."),
    ] = None,
    items: Annotated[int, typer.Option("--items", "-n", min=10, help="Items of the data that are encoded.")] = 15_000,
    bootstrap: Annotated[
        int | None,
        typer.Option(min=0, help="Replicates at most for 95 % intervals; 0: none; by default those that are stored."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the items drawn and of every classifier.")] = 0,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")] = None,
) -> None:
    """Write one self-contained HTML page about a run, or one that compares several.

    [bold]hatchel report runs/mine[/]   [bold]hatchel report runs/mine --figures figures --bootstrap 0[/]

    [bold]hatchel report runs/a runs/b runs/b-seed1 --out ab.html[/]   runs that differ only in their seed are averaged
    """
    from hatchel.cli.assignments import load_plugins

    load_plugins(plugin)
    from hatchel.report.figure_export import checked_folder
    from hatchel.report.page import checked_file
    from hatchel.study.comparison import load_runs

    loaded = load_runs(runs)
    target = checked_file(out or (runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html")))
    folder = checked_folder(figures) if figures else None
    if len(loaded) == 1:
        _one(loaded[0], target, folder, items, seed, bootstrap)
    else:
        _several(loaded, target, folder, items, seed, bootstrap)
    print(f"Report: {target}")


def _one(run: TrainedRun, target: Path, folder: Path | None, items: int, seed: int, bootstrap: int | None) -> None:
    from hatchel.core.files import write_text
    from hatchel.report.figure_export import write_animations, write_figures
    from hatchel.report.findings import analyse
    from hatchel.report.page import page
    from hatchel.report.panels.panel import draw_panels

    found = analyse(run, items=items, seed=seed, bootstrap=bootstrap)
    panels = draw_panels(found)
    write_text(target, page(found, panels=panels))
    if folder:
        written = [*write_figures(folder, panels), *write_animations(folder, found)]
        print(f"Figures: {len(written)} files in {folder}")


def _several(
    runs: list[TrainedRun], target: Path, folder: Path | None, items: int, seed: int, bootstrap: int | None
) -> None:
    from hatchel.core.files import write_text
    from hatchel.report.figure_export import write_animations, write_figures
    from hatchel.study.comparison import compare
    from hatchel.study.comparison_page import comparison_page, comparison_panels

    comparison = compare(runs, items=items, seed=seed, bootstrap=bootstrap, log=print)
    panels = comparison_panels(comparison)
    write_text(target, comparison_page(comparison, panels))
    if folder:
        runs_by_name = {f"{g.label} seed {f.run.spec.seed}": f for g in comparison.groups for f in g.members}
        animated = [path for name, found in runs_by_name.items() for path in write_animations(folder, found, name)]
        written = [*write_figures(folder, panels), *animated]
        print(f"Figures: {len(written)} files in {folder}")
