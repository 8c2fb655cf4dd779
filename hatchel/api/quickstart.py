"""Quickstart: one good model on built-in data, trained, measured beside two controls, and shown."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from hatchel.core.files import write_bytes, write_json
from hatchel.core.progress import duration
from hatchel.core.spec import from_dict, to_dict
from hatchel.data.shapes3d import Shapes3D
from hatchel.evaluation.evaluation import ITEMS
from hatchel.methods.resolve import resolve
from hatchel.report.figure_export import SUMMARY_DPI, summary_figure
from hatchel.report.findings import HEADLINES, Control, Findings, analyse
from hatchel.report.page import NumberText, learned, training_seconds, write_report
from hatchel.report.style import png
from hatchel.report.trackers import traversals
from hatchel.training.callbacks import Callback
from hatchel.training.loop import Stopped
from hatchel.training.run import TrainedRun, decided, train
from hatchel.training.spec import Adam, RunSpec

DATA = Shapes3D(size=32)
STEPS = 5_000


def specs(steps: int = STEPS) -> tuple[RunSpec, RunSpec]:
    """The model, by the method that the study comb-search found, and the plain method beside it."""
    fields: dict[str, Any] = {
        "batch_size": 64, "optimizer": Adam(lr=1e-3), "test_share": 0.1, "checkpoint_every": 500, "precision": "auto"
    }  # fmt: skip
    model, control = (resolve(method, DATA, {"steps": steps}) for method in ("comb", "vae"))
    return model.with_fields(**fields), control.with_fields(**fields)


QUICKSTART, CONTROL = specs()
GROWING = "growing.png"


class Growing(Callback):
    """Renews RUN/growing.png at every checkpoint: the traversals of the model as it is then."""

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        picture = traversals(run)
        if picture is not None:
            scale = max(1, 1200 // picture.width)
            drawn = BytesIO()
            picture.resize((scale * picture.width, scale * picture.height), 0).save(drawn, "PNG")
            write_bytes(run.folder / GROWING, drawn.getvalue())


@dataclass(frozen=True)
class Quickstart:
    """What was found and where it was written."""

    model: Findings
    controls: tuple[Control, ...]
    report: Path
    scores: Path
    picture: Path
    seconds: float
    """In the training loop of the longer of the two."""


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
    log(f"     what it has learned so far, renewed every {spec.checkpoint_every} steps: {out / GROWING}")
    log(f"2/3  at the same time the control, {control.name}: minimising {control.formula()}")
    model, plain = _both(spec, control, out, force, progress)
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
            f"trained on {plain.spec.formula()} for {plain.steps:,} steps",
            analyse(plain, items=items, bootstrap=bootstrap),
        ),
    )
    write_json(out / "scores.json", scores(found, controls), sealed=False)
    picture = out / "traversals.png"
    write_bytes(picture, png(summary_figure(found, controls, model.spec.name), SUMMARY_DPI))
    report = write_report(found, out / "report.html", controls)
    seconds = max(training_seconds(model), training_seconds(plain))
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
        label = f"R² of {fit.factor} with {fit.name} ↑"
        table.add_row(label, own.value, own.interval, *(f"{other.value:.3f}" for other in others))
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(learned(model), highlight=False)
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


def _both(spec: RunSpec, control: RunSpec, out: Path, force: bool, progress: bool) -> tuple[TrainedRun, TrainedRun]:
    """Model and control at once, each with half of the cores: two single threads do more than one pair of them."""
    beside, cores = out / "control" / control.name, os.cpu_count() or 1
    data = spec.data.load()  # rendered once, not by both
    spec, control = (made.with_fields(threads=cores // 2) for made in (spec, control))
    precision = decided(spec.fit_to(data), data, None if force else out).precision
    spec, control = (made.with_fields(precision=precision) for made in (spec, control))
    if cores == 1:
        return _trained(spec, out, force, progress, Growing()), _trained(control, beside, force, progress)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        other = pool.submit(_control, to_dict(control), beside, force)
        model = _trained(spec, out, force, progress, Growing())
        other.result()
    return model, TrainedRun.load(beside, data=model.data)


def _control(spec: dict[str, Any], folder: Path, force: bool) -> None:
    _trained(from_dict(RunSpec, spec), folder, force, progress=False)


def _trained(spec: RunSpec, folder: Path, force: bool, progress: bool, *callbacks: Callback) -> TrainedRun:
    try:
        return train(spec, out=folder, resume=True, force=force, progress=progress, callbacks=callbacks)
    except Stopped as stopped:
        done = str(stopped).partition(";")[0]
        raise Stopped(f"{spec.name}: {done}; run the same command again to go on") from None
