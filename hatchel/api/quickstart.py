"""Quickstart: one good model on built-in data, trained, measured beside two controls, and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from hatchel.core.files import write_bytes, write_json
from hatchel.core.progress import duration
from hatchel.data.dsprites import DSprites
from hatchel.evaluation.evaluation import ITEMS
from hatchel.methods.resolve import resolve
from hatchel.report.figure_export import SUMMARY_DPI, summary_figure
from hatchel.report.findings import HEADLINES, Control, Findings, analyse
from hatchel.report.page import NumberText, training_seconds, write_report
from hatchel.report.style import png
from hatchel.training.loop import Stopped
from hatchel.training.run import TrainedRun, train
from hatchel.training.spec import Adam, RunSpec

DATA = DSprites(size=32)
QUICKSTART = resolve("beta_vae", DATA, {"beta": 4.0}).with_fields(
    steps=4_000, batch_size=64, optimizer=Adam(lr=1e-3), log_every=50
)
"""What is trained."""
CONTROL = QUICKSTART.with_fields(name="vae", objective=resolve("vae", DATA).objective)
"""The same network without the method; both together must fit into six minutes on two cores."""


@dataclass(frozen=True)
class Quickstart:
    """What was found and where it was written."""

    model: Findings
    controls: tuple[Control, ...]
    report: Path
    scores: Path
    picture: Path
    seconds: float
    """In the training loop, both models together."""


def quickstart(
    out: Path = Path("runs/quickstart"),
    *,
    spec: RunSpec = QUICKSTART,
    control: RunSpec = CONTROL,
    items: int = ITEMS,
    bootstrap: int | None = None,
    force: bool = False,
    progress: bool = True,
    log: Callable[[str], None] = print,
) -> Quickstart:
    """Train the model and the control, or go on where they were stopped; measure them and an untrained one; report.

    In `out`: the model's run with report.html, scores.json and traversals.png; the control's run in control/NAME.
    """
    log(f"1/3  {spec.name}: {spec.steps:,} steps, minimising {spec.formula()}")
    model = _trained(spec, out, force, progress)
    log(f"2/3  the control, {control.name}: {control.steps:,} steps, minimising {control.formula()}")
    plain = _trained(control, out / "control" / control.name, force, progress)
    log(f"3/3  measuring on {min(items, len(model.data)):,} items, with intervals, then the report")
    found = analyse(model, items=items, bootstrap=bootstrap)
    controls = (
        Control(
            "untrained",
            "the same network with its initial weights",
            analyse(untrained(model), items=items, bootstrap=bootstrap),
        ),
        Control(
            control.name,
            f"the same network trained on {plain.spec.formula()} for {plain.steps:,} steps",
            analyse(plain, items=items, bootstrap=bootstrap),
        ),
    )
    write_json(out / "scores.json", scores(found, controls), sealed=False)
    picture = out / "traversals.png"
    write_bytes(picture, png(summary_figure(found, controls, model.spec.name), SUMMARY_DPI))
    report = write_report(found, out / "report.html", controls)
    seconds = training_seconds(model) + training_seconds(plain)
    return Quickstart(found, controls, report, out / "scores.json", picture, seconds)


def print_scores(result: Quickstart) -> None:
    """The scores beside those of the controls, where position is, and where the report is."""
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
            own = NumberText.of(score)
            table.add_row(
                f"{line.label} {'↓' if line.lower_is_better else '↑'}",
                own.value,
                own.interval,
                *(f"{float(f.scores[line.key]):.3f}" for f in beside),
            )
    for fit in model.fits:
        others = [next(f.score for f in found.fits if f.factor == fit.factor) for found in beside]
        own = NumberText.of(fit.score)
        label = f"R² of {fit.factor} with z{fit.dimension} alone ↑"
        table.add_row(label, own.value, own.interval, *(f"{other.value:.3f}" for other in others))
    console = Console(soft_wrap=True)
    console.print(table)
    for control in result.controls:
        console.print(f"{control.name}: {control.note}.", highlight=False)
    console.print("↑ higher is better, ↓ lower is better; TC in nats.", highlight=False)
    console.print(f"Training took {duration(result.seconds)}; n = {model.probe.n:,} items.", highlight=False)
    console.print(f"Scores: {result.scores}", highlight=False)
    console.print(f"Report: {result.report}", highlight=False)


def scores(found: Findings, controls: tuple[Control, ...]) -> dict[str, object]:
    """{metric: {value, low, high, ...}} of the model, and under `control` the same of each control."""
    return {**found.to_dict(), "control": {c.name: c.findings.to_dict() for c in controls}}


def untrained(run: TrainedRun) -> TrainedRun:
    """The run's network with the weights it started from, with a folder of its own for its evaluation."""
    found = TrainedRun(run.folder / "control" / "untrained", run.description, run.spec.build(run.shape).model, 0)
    found._data = run.data  # pyright: ignore[reportPrivateUsage]
    return found


def _trained(spec: RunSpec, folder: Path, force: bool, progress: bool) -> TrainedRun:
    try:
        return train(spec, out=folder, resume=True, force=force, progress=progress)
    except Stopped as stopped:
        done = str(stopped).partition(";")[0]
        raise Stopped(f"{spec.name}: {done}; run the same command again to go on") from None
