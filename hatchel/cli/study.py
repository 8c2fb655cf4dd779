"""`hatchel study`: the papers' tables and figures, and one's own comparisons, over seeds and methods."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hatchel.cli.options import STUDIES, EngineName, EngineSet, Folder, Plugin, Workers
from hatchel.cli.query import export, query
from hatchel.cli.tune import tune

if TYPE_CHECKING:
    from hatchel.study.engines.engine import Engine
    from hatchel.study.store import Entry
    from hatchel.study.study import Study

app = typer.Typer(
    help="Studies: methods compared over seeds, as the papers' tables and figures or from a file of your own.",
    epilog="Start with: hatchel study list, then hatchel study run tc-disparity --scale smoke",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Target = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A study of `hatchel study list`, or a YAML file.")]
ScaleName = Annotated[
    Literal["smoke", "laptop", "paper"],
    typer.Option("--scale", help="smoke: seconds, shows that it runs; laptop: a smaller budget; paper: the paper's."),
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, ... in place of the scale's own number.")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]


@app.command("list")
def list_(as_json: AsJson = False, plugin: Plugin = None) -> None:
    """What can be run by name; plug-ins included.

    [bold]hatchel study show grid > mine.yaml[/]   an example of your own, for `hatchel study run mine.yaml`
    """
    import json

    from hatchel.cli.assignments import load_plugins
    from hatchel.cli.printing import print_table
    from hatchel.study.study import Study

    load_plugins(plugin)
    rows = [
        {"name": kind, "paper": member.paper, "what": (member.__doc__ or "").strip().splitlines()[0]}
        for kind, member in Study.members().items()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print_table(["name", "paper", "what"], [list(row.values()) for row in rows])


@app.command()
def show(target: Target, scale: ScaleName = "laptop", seeds: Seeds = None, plugin: Plugin = None) -> None:
    """What a study consists of: its scales in words, and its cells by their labels.

    [bold]hatchel study show grid[/] prints a study file to start from.
    """
    from hatchel.cli.printing import by_labels, label_names, print_table
    from hatchel.studies.grid_file import EXAMPLE, GridStudy
    from hatchel.study.study import Study as Root

    study = _study(target, plugin)
    if target == GridStudy.kind and Root.members()[target] is GridStudy:
        print(EXAMPLE, end="")
        return
    print(
        f"{target}{f' (paper {study.paper})' if study.paper else ''}: {(study.__doc__ or '').strip().splitlines()[0]}"
    )
    for name, words in study.scales.items():
        print(f"  {name}: {words}")
    entries = study.entries(scale, seeds)
    names = label_names(entries)
    print(f"\n{len({e.cell.digest() for e in entries})} cells at {scale}:")
    print_table([*names, "seeds"], [[*key, len(group)] for key, group in by_labels(entries).items()])


@app.command()
def run(
    target: Target,
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    engine: EngineName = "local",
    workers: Workers = 0,
    engine_set: EngineSet = None,
    store: Folder = STUDIES,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="LABEL=VALUE", help="These cells alone; can be repeated.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed cells again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cells and the time they will take.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No estimate, no progress.")] = False,
    plugin: Plugin = None,
) -> None:
    """Compute the cells that have no record yet, then say what they show. Stopped, it goes on where it was.

    [bold]hatchel study run recurd-table2 --scale laptop --dry-run[/]

    [bold]hatchel study run recurd-table2 --only method=RecurD --seeds 1[/]

    [bold]hatchel study run mine.yaml --engine dask://scheduler:8786[/]

    Exit code 1 where a cell failed; 130 after Ctrl-C.
    """
    from hatchel.cli.printing import print_summary
    from hatchel.cli.tune import engine_from
    from hatchel.studies.grid_file import name_of
    from hatchel.study.progress import watched
    from hatchel.study.runner import run_cells
    from hatchel.study.store import Store
    from hatchel.study.study import chosen_of

    study = _study(target, plugin)
    entries = study.entries(scale, seeds)
    chosen = chosen_of(entries, only or ())
    cells = [entry.cell for entry in chosen]
    kept, where = Store(store), engine_from(engine, workers, engine_set)
    if dry_run:
        _rehearse(chosen, kept, where)
        return
    where.ready()
    _load_data(chosen)
    kept.create().write_study(name_of(study), scale, entries)
    if not quiet and scale != "smoke":
        print(_estimated(chosen, kept, where), file=sys.stderr)
    more = {
        "--engine": [engine] * (engine != "local"),
        "--workers": [str(workers)] * (workers > 0),
        "--engine-set": engine_set or [],
        "--only": only or [],
        "--plugin": [str(file) for file in plugin or ()],
    }
    again = _command("run", target, scale, seeds, store, more)
    try:
        if quiet:
            run_cells(cells, kept, where, retry=retry, plugins=plugin or ())
        else:
            with watched() as tell:
                run_cells(cells, kept, where, retry=retry, plugins=plugin or (), tell=tell)
    except KeyboardInterrupt:
        done = sum(kept.status(cell.digest()) == "done" for cell in cells)
        print(f"Stopped with {done} of {len(cells)} cells done. To go on: {again}", file=sys.stderr)
        raise typer.Exit(130) from None
    failed = print_summary(
        study, entries, kept, scale, _command("report", target, scale, seeds, store), f"{again} --retry"
    )
    if failed:
        raise typer.Exit(1)


@app.command()
def status(
    target: Target, scale: ScaleName = "laptop", seeds: Seeds = None, store: Folder = STUDIES, plugin: Plugin = None
) -> None:
    """How many cells of a study are done, running, failed or waiting, and why some failed."""
    from hatchel.cli.printing import by_labels, failures, label_names, print_table, status_of
    from hatchel.study.store import Store

    entries, kept = _study(target, plugin).entries(scale, seeds), Store(store)
    names = label_names(entries)
    states = ("done", "running", "failed", "waiting")
    rows: list[list[Any]] = []
    for key, group in by_labels(entries).items():
        found = [status_of(kept, entry.cell) for entry in group]
        rows.append([*key, *(found.count(state) or "" for state in states)])
    print_table([*names, *states], rows)
    for line in failures(entries, kept):
        print(line)


@app.command()
def report(
    target: Target,
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    store: Folder = STUDIES,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder [default: STORE/reports/NAME-SCALE].")
    ] = None,
    plugin: Plugin = None,
) -> None:
    """Write a page about a study from its records alone: tables, claims, figures, the paper's numbers beside ours."""
    from hatchel.cli.printing import failures
    from hatchel.core.errors import HatchelError
    from hatchel.studies.grid_file import name_of
    from hatchel.study.report import write_report
    from hatchel.study.store import Store

    study, kept = _study(target, plugin), Store(store)
    entries = study.entries(scale, seeds)
    rows = kept.rows(entries)
    if not rows:
        todo = _command("run", target, scale, seeds, store)
        raise HatchelError(f"{target}: no cell is done at {scale} in {store}; first: {todo}")
    machines = dict.fromkeys(str(kept.record(row.digest).get("machine", "")) for row in rows)
    folder = out or store / "reports" / f"{name_of(study)}-{scale}"
    print(f"Report: {write_report(study, rows, scale, folder, failures(entries, kept), '; '.join(machines))}")


app.command()(query)
app.command()(export)
app.command()(tune)


def _study(target: str, plugin: list[Path] | None) -> Study:
    from hatchel.cli.assignments import load_plugins
    from hatchel.studies.grid_file import read_study

    load_plugins(plugin)
    return read_study(target)


def _load_data(entries: list[Entry]) -> None:
    """Files that are missing are missed before anything is computed; what is built in needs none."""
    sources = [source for entry in entries for source in entry.cell.sources()]
    for source in {source.digest(): source for source in sources}.values():
        if not source.built_in:
            source.load()


def _estimated(entries: list[Entry], kept: Any, engine: Engine) -> str:
    from hatchel.study.estimate import estimate

    found = estimate([entry.cell for entry in entries], kept, engine)
    return "\n".join([found.text(), *(f"cannot be computed: {fault}" for fault in found.faults)])


def _rehearse(entries: list[Entry], kept: Any, engine: Engine) -> None:
    from hatchel.cli.printing import label_names, print_table, status_of

    names = label_names(entries)
    rows = [
        [*(e.labels.get(n, "") for n in names), e.cell.seed, e.cell.digest(), status_of(kept, e.cell)] for e in entries
    ]
    print_table([*names, "seed", "cell", "state"], rows)
    print(_estimated(entries, kept, engine))


def _command(
    verb: str, target: str, scale: str, seeds: int | None, store: Path, more: Mapping[str, Sequence[str]] | None = None
) -> str:
    """What to type for this study."""
    words = ["hatchel", "study", verb, target, "--scale", scale]
    words += ["--seeds", str(seeds)] if seeds else []
    words += ["--store", str(store)] if store != STUDIES else []
    words += [word for option, values in (more or {}).items() for value in values for word in (option, value)]
    return shlex.join(words)
