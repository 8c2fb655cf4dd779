"""`hatchel train`, and `hatchel quickstart`, which trains and shows one good model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hatchel.cli.options import AsJson, Plugin, Quiet, check_folder, kinds, load_plugins, parse, read_spec
from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    from hatchel.training.run import TrainedRun
    from hatchel.training.spec import RunSpec


def train(
    target: Annotated[
        str,
        typer.Argument(
            help="A method, a YAML/JSON file, or (with --resume) a run's folder.",
            autocompletion=kinds("hatchel.methods", "Method"),
        ),
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="Fields to change, as key=value; dotted keys reach any field.", metavar="[KEY=VALUE]..."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; by default runs/NAME-DIGEST.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start over where a run already exists.")] = False,
    data: Annotated[
        str | None, typer.Option("--data", help="With --resume: where the run's data are now; else as data=...")
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(help="Passes over the data, in place of steps=...", show_default=False)
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            help="Show the run while it trains: tensorboard, wandb or mlflow.",
            autocompletion=kinds("hatchel.report", "Tracker"),
        ),
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model.

    [bold]hatchel train factor_vae gamma=10[/]

    [bold]hatchel train beta_vae beta=4 data=shapes3d latent.dim=16 steps=20000 seed=1 --out runs/mine[/]

    [bold]hatchel train beta_vae data=./photos[/]   a folder of images, or a .npy, .npz, .h5, .csv or .parquet file

    [bold]hatchel train beta_vae --epochs 20 --track tensorboard[/]   passes over the data, shown on the way

    [bold]hatchel train runs/mine --resume[/]       after Ctrl-C, or with steps=40000 to train on

    [bold]torchrun --nproc-per-node 2 -m hatchel train beta_tcvae[/]   two processes, the same result
    """
    from hatchel.training import run as runs

    check_folder(out)
    load_plugins(plugin)
    given = [*(assignments or ()), *([f"track=[{','.join(track)}]"] if track else [])]
    if resume and (Path(target) / "config.json").is_file():
        if epochs is not None:
            raise HatchelError("--epochs: a run that is resumed is trained further by steps=..., such as steps=40000")
        made = runs.resume_run(target, data=data, progress=not quiet, changes=parse(given))
    else:
        given = [*([f"data={data}"] if data else ()), *given]
        if epochs is not None:
            given.append(f"steps={_steps(read_spec(target, given), epochs, given)}")
        made = runs.train(read_spec(target, given), out=out, resume=resume, force=force, progress=not quiet)
    from hatchel.core.distributed import rank
    from hatchel.training.events import read_events

    if rank() == 0:
        _warn_of_collapse(made)
    if rank() == 0 and as_json:
        last = (read_events(made.folder) or [{}])[-1]
        print(json.dumps({"run": str(made.folder), "digest": made.spec.digest(), "steps": made.steps, "last": last}))
    elif rank() == 0 and not quiet:
        early = f", ended early of {made.spec.steps}" if made.steps < made.spec.steps else ""
        print(f"{made.folder}: {made.steps} steps of {made.spec.name}{early}.  Next: hatchel evaluate {made.folder}")


def _steps(spec: RunSpec, epochs: float, given: Sequence[str]) -> int:
    """Steps of so many passes over the items to train on; what does not fill a batch waits for another pass."""
    if any(text.startswith("steps=") for text in given):
        raise HatchelError("--epochs: steps=... says the same; leave one of them out")
    if not 0 < epochs < float("inf"):
        raise HatchelError(f"--epochs: must be above 0, got {epochs:g}")
    data = spec.data.load()
    items = len(data.split(spec.seed, spec.test_share)[0]) if spec.test_share else len(data)
    return max(1, round(epochs * max(1, items // spec.batch_size)))


def _warn_of_collapse(run: TrainedRun) -> None:
    from hatchel.evaluation.codes import encodings
    from hatchel.metrics._active_units import collapse

    found = encodings(run, 1000, store=False)
    note = collapse(found.mean, found.std)
    if note:
        print(f"hatchel: {run.folder}: {note}", file=sys.stderr)


def quickstart(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the model, its scores and the report.")] = (
        Path("runs/quickstart")
    ),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    force: Annotated[bool, typer.Option("--force", "--fresh", help="Start over instead of resuming.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, hidden=True, help="Fewer steps, for a first try.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train, measure and show one good model on built-in data: a few minutes on two cores, nothing to download.

    Ctrl-C loses nothing: the same command resumes. Finished models are only measured and reported again.
    """
    from hatchel.api.quickstart import CONTROL, QUICKSTART, print_scores
    from hatchel.api.quickstart import quickstart as start
    from hatchel.core.progress import quietly

    check_folder(out)
    spec, control = QUICKSTART.with_fields(seed=seed), CONTROL.with_fields(seed=seed)
    if steps is not None:
        spec, control = spec.with_fields(steps=steps), control.with_fields(steps=min(steps, control.steps))
    log: Callable[[str], None] = (lambda line: None) if quiet or as_json else print
    with quietly(quiet):
        result = start(out, spec=spec, control=control, force=force, progress=not quiet, log=log)
    if as_json:
        print(result.scores.read_text(encoding="utf-8").rstrip())
    else:
        print_scores(result)
