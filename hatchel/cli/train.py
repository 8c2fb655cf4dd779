"""`hatchel train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hatchel.cli.options import Plugin


def train(
    target: Annotated[str, typer.Argument(help="A method, a YAML/JSON file, or (with --resume) a run's folder.")],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="Fields to change, as key=value; dotted keys reach any field.", metavar="[KEY=VALUE]..."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; by default runs/NAME-DIGEST.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start over where a run already exists.")] = False,
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
    from hatchel.cli.assignments import load_plugins, parse, read_spec
    from hatchel.training import run as runs

    load_plugins(plugin)
    if resume and (Path(target) / "config.json").is_file():
        made = runs.resume_run(target, progress=not quiet, changes=parse(assignments or ()))
    else:
        spec = read_spec(target, assignments or ())
        made = runs.train(spec, out=out, resume=resume, force=force, progress=not quiet)
    from hatchel.core.distributed import rank

    if rank() == 0 and not quiet:
        print(f"{made.folder}: {made.steps} steps of {made.spec.name}.  Next: hatchel evaluate {made.folder}")
