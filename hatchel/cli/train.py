"""`hatchel train`, and `hatchel quickstart`, which trains and shows one good model."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hatchel.cli.options import AsJson, Plugin, Quiet, Workers, check_folder, kinds, load_plugins, parse, read_spec
from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    from hatchel.training.spec import RunSpec

MOST = 1000
"""Seeds at once."""


def train(
    target: Annotated[
        str,
        typer.Argument(
            metavar="METHOD|FILE|RUN",
            help="A method, a YAML/JSON file, or (with --resume) a run's folder.",
            autocompletion=kinds("hatchel.methods", "Method"),
        ),
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="Fields to change, as key=value; dotted keys reach any field.", metavar="KEY=VALUE"),
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
    seeds: Annotated[
        str | None, typer.Option(metavar="0..9", help="Train and measure these seeds at once, one thread each.")
    ] = None,
    workers: Workers = 0,
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

    [bold]hatchel train beta_vae --seeds 0..9[/]    ten models on all cores, their scores and one report

    [bold]torchrun --nproc-per-node 2 -m hatchel train beta_tcvae[/]   two processes, the same result
    """
    from hatchel.cli.printing import print_json
    from hatchel.training import run as runs

    check_folder(out)
    load_plugins(plugin)
    given = [*(assignments or ()), *([f"track=[{','.join(track)}]"] if track else [])]
    if seeds is not None:
        if resume or epochs is not None:
            raise HatchelError("--seeds: goes on by itself, by steps; leave out --resume and --epochs")
        spec = read_spec(target, [*([f"data={data}"] if data else ()), *given])
        words = [target, *([f"data={data}"] if data else ()), *given, "--seeds", seeds]
        _several(spec, _numbers(seeds), words, out, workers, force, plugin, quiet, as_json)
        return
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
    from hatchel.evaluation.evaluation import announce_collapse
    from hatchel.training.events import read_events

    if rank() == 0:
        announce_collapse(made)
    if rank() == 0 and as_json:
        last = (read_events(made.folder) or [{}])[-1]
        print_json({"run": made.folder, "digest": made.spec.digest(), "steps": made.steps, "last": last})
    elif rank() == 0 and not quiet:
        early = f", ended early of {made.spec.steps}" if made.steps < made.spec.steps else ""
        print(f"{made.folder}: {made.steps} steps of {made.spec.name}{early}.  Next: hatchel evaluate {made.folder}")


def _steps(spec: RunSpec, epochs: float, given: Sequence[str]) -> int:
    from hatchel.api.run import epoch_steps

    if any(text.startswith("steps=") for text in given):
        raise HatchelError("--epochs: steps=... says the same; leave one of them out")
    if not 0 < epochs < float("inf"):
        raise HatchelError(f"--epochs: must be above 0, got {epochs:g}")
    return epoch_steps(spec, spec.data.load(), epochs)


def _numbers(text: str) -> list[int]:
    """The seeds that `0..9`, `3` or `0..2,7` name.

    >>> _numbers("0..2,7")
    [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", part.strip())
        if not found:
            raise HatchelError(f"--seeds {text}: expected seeds such as 0..9 or 0,3,7")
        first, last = int(found[1]), int(found[2] or found[1])
        if last - first >= MOST:
            raise HatchelError(f"--seeds {text}: at most {MOST} at once, such as {first}..{first + MOST - 1}")
        numbers += range(first, last + 1)
    if not numbers or len(set(numbers)) < len(numbers):
        raise HatchelError(f"--seeds {text}: name each seed once, the smaller first: 0..9")
    return numbers


def _several(
    spec: RunSpec,
    seeds: list[int],
    words: Sequence[str],
    out: Path | None,
    workers: int,
    retry: bool,
    plugin: Plugin,
    quiet: bool,
    as_json: bool,
) -> None:
    """The seeds as a study of one case: what is done is kept, and the same command goes on after a stop."""
    from hatchel.cli.printing import failures, live_tally, print_json, print_table, table_rows
    from hatchel.cli.tune import engine_from
    from hatchel.study.grid import Grid
    from hatchel.study.report import write_report
    from hatchel.study.runner import run_tasks
    from hatchel.study.store import Store
    from hatchel.study.study import Study
    from hatchel.study.table import Column
    from hatchel.study.task import Case
    from hatchel.study.trained import Trained

    spec.data.load()  # once, before every process does, and to refuse what cannot be read
    task = Trained(seed=0, run=spec.with_fields(seed=0))
    folder = out or Path("runs") / f"{spec.name}-{task.run.digest()}-seeds"
    if (folder / "config.json").is_file():
        raise HatchelError(f"--out {folder}: holds a run; name another folder for the seeds, such as {folder}-seeds")
    kept, cases = Store(folder), [Case({"method": spec.name}, task.with_fields(seed=seed)) for seed in seeds]
    plugins = [word for file in plugin or () for word in ("--plugin", str(file))]
    again = shlex.join(["hatchel", "train", *words, "--out", str(folder), *plugins])
    kept.create().write_study(spec.name, "laptop", cases, again)
    tasks, engine = [case.task for case in cases], engine_from("local", workers, None)
    try:
        with live_tally(quiet) as on_progress:
            run_tasks(tasks, kept, engine, retry=retry, plugins=plugin or (), on_progress=on_progress)
    except KeyboardInterrupt:
        print("Stopped; the models are saved: the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    for case in cases:
        digest = case.task.digest()
        if kept.status(digest) == "done" and (note := kept.record(digest)["details"].get("collapse")):
            print(f"hatchel: seed {case.task.seed}: {note}", file=sys.stderr)
    frame, failed = kept.frame_of(cases, spec.name, "laptop"), failures(cases, kept)
    found: dict[str, Any] = {"runs": kept.runs, "report": None, "scores": None, "failed": failed}
    if len(frame):
        plain = frame[(frame["part"] == "") & (frame["representation"] == "mean")]["metric"]
        columns = tuple(Column(name, name) for name in dict.fromkeys(plain))
        about = f"{spec.formula()}, trained with seeds {', '.join(map(str, seeds))}."
        study = Study(spec.name, about, lambda scale: Grid((cases[0],), len(seeds)), columns, trade=None)
        (table,) = study.tables(frame)
        found |= {
            "report": write_report(study, frame, "laptop", folder / "report", failed),
            "scores": table_rows(table)["rows"][0],
        }
        if not as_json:
            rows = list(zip(table.headings, table.texts()[0], strict=True))[1:-1]  # without the method and the seeds
            print_table(["", f"mean of {frame['seed'].nunique()} seeds"], rows)
            print(f"Runs: {kept.runs}   Report: {found['report']}")
    if as_json:
        print_json(found)
    elif failed:
        print("\n".join(failed))
    if failed:
        raise typer.Exit(1)


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
    from hatchel.api.quickstart import STEPS, print_scores, specs
    from hatchel.api.quickstart import quickstart as start
    from hatchel.core.progress import quietly

    check_folder(out)
    spec, control = (made.with_fields(seed=seed) for made in specs(steps or STEPS))
    log: Callable[[str], None] = (lambda line: None) if quiet or as_json else print
    with quietly(quiet):
        result = start(out, spec=spec, control=control, force=force, progress=not quiet, log=log)
    if as_json:
        print(result.scores.read_text(encoding="utf-8").rstrip())
    else:
        print_scores(result)
