"""`hatchel train`, and `hatchel quickstart`, which trains and shows one good model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hatchel.cli.options import Plugin, load_plugins, parse, read_spec
from hatchel.core.errors import HatchelError


def train(
    target: Annotated[str, typer.Argument(help="A method, a YAML/JSON file, or (with --resume) a run's folder.")],
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
    plugin: Plugin = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Train a model.

    [bold]hatchel train factor_vae gamma=10[/]

    [bold]hatchel train beta_vae beta=4 data=shapes3d latent.dim=16 steps=20000 seed=1 --out runs/mine[/]

    [bold]hatchel train beta_vae data=./photos[/]   a folder of images, or a .npy, .npz, .h5, .csv or .parquet file

    [bold]hatchel train runs/mine --resume[/]       after Ctrl-C, or with steps=40000 to train on

    [bold]torchrun --nproc-per-node 2 -m hatchel train beta_tcvae[/]   two processes, the same result
    """
    from hatchel.training import run as runs

    load_plugins(plugin)
    if resume and (Path(target) / "config.json").is_file():
        made = runs.resume_run(target, data=data, progress=not quiet, changes=parse(assignments or ()))
    else:
        spec = read_spec(target, [*([f"data={data}"] if data else ()), *(assignments or ())])
        made = runs.train(spec, out=out, resume=resume, force=force, progress=not quiet)
    from hatchel.core.distributed import rank

    if rank() == 0 and not quiet:
        print(f"{made.folder}: {made.steps} steps of {made.spec.name}.  Next: hatchel evaluate {made.folder}")


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
    from hatchel.api.quickstart import CONTROL, QUICKSTART, print_scores
    from hatchel.api.quickstart import quickstart as start

    spec, control = QUICKSTART.with_fields(seed=seed), CONTROL.with_fields(seed=seed)
    if steps is not None:
        spec, control = spec.with_fields(steps=steps), control.with_fields(steps=min(steps, control.steps))
    try:
        result = start(out, spec=spec, control=control, force=force)
    except KeyboardInterrupt:
        raise HatchelError("stopped; the models are saved: run the same command again to go on") from None
    print_scores(result)
