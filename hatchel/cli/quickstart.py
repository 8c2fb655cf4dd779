"""`hatchel quickstart`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    from hatchel.api.quickstart import Quickstart
    from hatchel.metrics.score import Score


def quickstart(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the model, its scores and the report.")] = (
        Path("runs/quickstart")
    ),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    force: Annotated[bool, typer.Option("--force", "--fresh", help="Start over instead of resuming.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, hidden=True, help="Fewer steps, for a first try.")] = None,
) -> None:
    """Train, measure and show one good model on built-in data: a few minutes on two cores, nothing to download.

    Ctrl-C loses nothing: the same command resumes. Finished models are only measured and reported again.
    """
    from hatchel.api.quickstart import CONTROL, QUICKSTART
    from hatchel.api.quickstart import quickstart as start

    spec, control = QUICKSTART.with_fields(seed=seed), CONTROL.with_fields(seed=seed)
    if steps is not None:
        spec, control = spec.with_fields(steps=steps), control.with_fields(steps=min(steps, control.steps))
    try:
        result = start(out, spec=spec, control=control, force=force)
    except KeyboardInterrupt:
        raise HatchelError("stopped; the models are saved: run the same command again to go on") from None
    print_scores(result)


def print_scores(result: Quickstart) -> None:
    """The scores beside those of the controls, where position is, and where the report is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from hatchel.report.findings import HEADLINES
    from hatchel.report.page import duration

    model = result.model
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("")
    table.add_column(model.run.spec.name, justify="right", style="bold")
    table.add_column("95 % interval", justify="right")
    for control in result.controls:
        table.add_column(control.name, justify="right")
    beside = [control.findings for control in result.controls]
    for line in HEADLINES:
        score = model.scores.get(line.key)
        if score is not None:
            table.add_row(
                f"{line.label} {'↓' if line.lower_is_better else '↑'}",
                *_cells(score),
                *(f"{float(f.scores[line.key]):.3f}" for f in beside),
            )
    for fit in model.fits:
        others = [next(f.score for f in found.fits if f.factor == fit.factor) for found in beside]
        label = f"R² of {fit.factor} with z{fit.dimension} alone ↑"
        table.add_row(label, *_cells(fit.score), *(f"{other.value:.3f}" for other in others))
    console = Console(soft_wrap=True)
    console.print(table)
    for control in result.controls:
        console.print(f"{control.name}: {control.note}.", highlight=False)
    console.print("↑ higher is better, ↓ lower is better; TC in nats.", highlight=False)
    console.print(f"Training took {duration(result.seconds)}; n = {model.probe.n:,} items.", highlight=False)
    console.print(f"Scores: {result.scores}", highlight=False)
    console.print(f"Report: {result.report}", highlight=False)


def _cells(score: Score) -> tuple[str, str]:
    ends = score.interval
    return f"{score.value:.3f}", f"{ends.low:.3f} – {ends.high:.3f}" if ends else ""
