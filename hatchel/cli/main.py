"""`hatchel`: the commands, and what happens to a mistake."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import hatchel
from hatchel.cli.data import app as data_app
from hatchel.cli.discover import discover
from hatchel.cli.listing import list_members, show
from hatchel.cli.runs import evaluate, explore, export, report, verify
from hatchel.cli.score import score
from hatchel.cli.study import app as study_app
from hatchel.cli.train import quickstart, train
from hatchel.core.errors import HatchelError
from hatchel.core.files import disk_problem

app = typer.Typer(
    name="hatchel",
    help="Learn codes in which each coordinate stands for one factor of variation, and measure whether it does.",
    epilog="Start with: hatchel quickstart, then hatchel list methods, then hatchel train factor_vae gamma=10",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(quickstart)
app.command()(train)
app.command()(discover)
app.command()(evaluate)
app.command()(report)
app.command()(explore)
app.command()(export)
app.command()(verify)
app.command()(score)
app.command()(show)
app.command(name="list")(list_members)
app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")


def _version(value: bool) -> None:
    if value:
        print(f"hatchel {hatchel.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """A mistake in the input is one line and exit code 2; a traceback is a bug of ours."""
    try:
        app()
    except HatchelError as error:
        print(f"hatchel: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        reason = disk_problem(error) or (error.strerror if isinstance(error, PermissionError) else "")
        if not reason:
            raise
        place = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        print(f"hatchel: {place}{reason}; free some space or name another place, then do it again", file=sys.stderr)
        sys.exit(2)
