"""`hatchel`: the commands, and what happens to a mistake."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import hatchel
from hatchel.cli.data import app as data_app
from hatchel.cli.discover import discover
from hatchel.cli.listing import list_members, show
from hatchel.cli.runs import evaluate, explore, export, report
from hatchel.cli.score import score
from hatchel.cli.study import app as study_app
from hatchel.cli.train import quickstart, train
from hatchel.cli.verify import verify
from hatchel.cli.weight import weight
from hatchel.cli.zoo import app as zoo_app
from hatchel.core.errors import HatchelError
from hatchel.core.files import disk_problem

KEPT = {
    "quickstart": "the models are saved; the same command goes on",
    "train": "the last checkpoint is kept; `hatchel train RUN --resume` goes on from it",
    "discover": "what was trained is kept; the same command goes on",
    "evaluate": "what was stored is kept; the same command goes on",
    "report": "what was stored is kept; the same command goes on",
    "data": "files that were fetched are kept; the same command goes on",
    "study": "finished tasks are kept; the same command goes on",
}
"""What Ctrl-C leaves, by command; all others write at their end or not at all."""


class Commands(TyperGroup):
    """The commands; Ctrl-C ends each with code 130 and one line, an option that is wrong with 2 and one line."""

    def invoke(self, ctx: typer.Context) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return super().invoke(ctx)  # pyright: ignore[reportArgumentType]
        except KeyboardInterrupt:
            kept = KEPT.get(ctx.invoked_subcommand or "", "nothing is left half-written")
            print(f"\nhatchel: stopped; {kept}", file=sys.stderr)
            raise typer.Exit(130) from None
        except Exception as error:
            # The parser's own; which module has its classes depends on the version of Typer.
            if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
                raise
            wrong: Any = error
            path = wrong.ctx.command_path if getattr(wrong, "ctx", None) else "hatchel"
            text = " ".join(wrong.format_message().replace("Value error, ", "").split()).rstrip(".")
            raise HatchelError(f"{text}{'' if text[-1:] == '?' else '.'} See: {path} --help") from None


app = typer.Typer(
    name="hatchel",
    cls=Commands,
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
app.command()(weight)
app.command(name="list")(list_members)
app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")
app.add_typer(zoo_app, name="zoo")


def _version(value: bool) -> None:
    if value:
        import platform

        import torch

        from hatchel.training.loop import choose_device

        device = choose_device("auto")
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
        known = f"Python {platform.python_version()}, torch {torch.__version__}, {device} ({name})"
        print(f"hatchel {hatchel.__version__} ({known})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version, with those of Python and torch and the device.",
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """A mistake in the input is one line and exit code 2, Ctrl-C one line and 130; a traceback is a bug of ours."""
    # Of a warning, the reader wants the sentence, not the file and the line of code that gave it.
    warnings.formatwarning = lambda message, *_, **__: f"hatchel: {message}\n"
    try:
        app()
    except HatchelError as error:
        _refuse(str(error), error.exit_code)
    except Exception as error:
        reason = disk_problem(error)
        if reason:
            place = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
            _refuse(f"{place}{reason}; free some space or name another place, then do it again")
        if isinstance(error, OSError):
            _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        if isinstance(error, MemoryError) or re.search("out of memory|allocate memory", str(error)):
            _refuse("there is not enough memory for this; lower a size, such as batch_size or latent.dim")
        raise


def _refuse(line: str, code: int = 2) -> NoReturn:
    print(f"hatchel: {line}", file=sys.stderr)
    sys.exit(code)
