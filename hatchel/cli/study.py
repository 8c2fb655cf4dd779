"""`hatchel study`: the papers' tables and figures, and one's own comparisons, over seeds and methods."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hatchel.cli.options import STUDIES, AsJson, EngineName, EngineSet, Folder, Plugin, Workers
from hatchel.cli.query import export, query
from hatchel.cli.tune import tune

if TYPE_CHECKING:
    from hatchel.study.engines.engine import Engine
    from hatchel.study.store import Store
    from hatchel.study.study import Study
    from hatchel.study.task import Case

app = typer.Typer(
    help="Studies: methods compared over seeds, as the papers' tables and figures or from a file of your own.",
    epilog="Start with: hatchel study list, then hatchel study run split-encoder --scale smoke",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Target = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A study of `hatchel study list`, or a YAML file.")]
ScaleName = Annotated[
    Literal["smoke", "laptop", "paper"],
    typer.Option("--scale", help="smoke: seconds, shows that it runs; laptop: a smaller budget; paper: the paper's."),
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, ... in place of the scale's own number.")]


@app.command("list")
def list_(as_json: AsJson = False, plugin: Plugin = None) -> None:
    """List the studies that can be run by name, plug-ins included.

    [bold]hatchel study show grid > mine.yaml[/]   an example of your own, for `hatchel study run mine.yaml`
    """
    from hatchel.cli.options import load_plugins
    from hatchel.cli.printing import print_json, print_table
    from hatchel.study.study import studies

    load_plugins(plugin)
    rows = [{"name": name, "paper": study.paper, "what": study.about} for name, study in studies().items()]
    if as_json:
        print_json(rows)
    else:
        print_table(["name", "paper", "what"], [list(row.values()) for row in rows])


@app.command()
def show(
    target: Target, scale: ScaleName = "laptop", seeds: Seeds = None, as_json: AsJson = False, plugin: Plugin = None
) -> None:
    """Describe a study: its scales in words, and its tasks by their labels.

    [bold]hatchel study show grid[/] prints a study file to start from.
    """
    from hatchel.cli.printing import by_labels, label_names, print_json, print_table
    from hatchel.studies.example import EXAMPLE
    from hatchel.study.grid import SCALES

    study = _study(target, plugin)
    if target == "grid" and not as_json:
        print(EXAMPLE, end="")
        return
    cases = study.tasks(scale, seeds)
    count, groups = len({c.task.digest() for c in cases}), by_labels(cases)
    if as_json:
        scales = {name: study.words(name) for name in SCALES}
        known = {"study": target, "paper": study.paper, "about": study.about, "scales": scales, "scale": scale}
        rows = [{**group[0].labels, "seeds": [c.task.seed for c in group]} for group in groups.values()]
        print_json({**known, "tasks": count, "cases": rows})
        return
    print(f"{target}{f' ({study.paper})' if study.paper else ''}: {study.about}")
    for name in SCALES:
        print(f"  {name}: {study.words(name)}")
    print(f"\n{count} tasks at {scale}:")
    print_table([*label_names(cases), "seeds"], [[*key, len(group)] for key, group in groups.items()])


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
        list[str] | None, typer.Option("--only", metavar="LABEL=VALUE", help="These tasks alone; can be repeated.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed tasks again.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute also what is published with the source.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the tasks, and the time they will take.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Compute the tasks that have no record yet, then print tables and claims. After a stop, the same command resumes.

    [bold]hatchel study run recurd --scale laptop --dry-run[/]

    [bold]hatchel study run recurd --only method=RecurD-1 --seeds 1[/]

    [bold]hatchel study run mine.yaml --engine dask://scheduler:8786[/]

    Exit code 1 if a task failed; 130 after Ctrl-C.
    """
    from hatchel.cli.printing import live_tally, print_summary
    from hatchel.cli.tune import engine_from
    from hatchel.study.runner import forecast, run_tasks
    from hatchel.study.store import Store
    from hatchel.study.study import chosen

    study = _study(target, plugin)
    kept, where = Store(store), engine_from(engine, workers, engine_set)
    cases = study.tasks(scale, seeds, kept)
    some = chosen(cases, only or ())
    if dry_run:
        _dry_run(some, kept, where, as_json, fresh)
        return
    where.ready()
    _load_data(some, kept, fresh)
    kept.create()
    more = {
        "--engine": [engine] * (engine != "local"),
        "--workers": [str(workers)] * (workers > 0),
        "--engine-set": engine_set or [],
        "--only": only or [],
        "--plugin": [str(file) for file in plugin or ()],
    }
    again = _command("run", target, scale, seeds, store, more)
    tasks = [case.task for case in some]
    try:
        while True:
            kept.write_study(study.name, scale, cases, again)
            taken = [] if fresh else kept.adopt(dict.fromkeys(task.digest() for task in tasks))
            if taken and not quiet:
                words = f"{len(taken)} of {len(tasks)} tasks are published: taken over (--fresh computes them)"
                print(words, file=sys.stderr)
            if not quiet and scale != "smoke":
                print(forecast(tasks, kept, where).text(), file=sys.stderr)
            with live_tally(quiet) as on_progress:
                run_tasks(tasks, kept, where, retry=retry, plugins=plugin or (), on_progress=on_progress)
            before, cases = len(cases), study.tasks(scale, seeds, kept)
            if len(cases) == before:  # no round follows
                break
            tasks = [case.task for case in chosen(cases, only or ())]
    except KeyboardInterrupt:
        done = sum(kept.status(task.digest()) == "done" for task in tasks)
        print(f"Stopped with {done} of {len(tasks)} tasks done. To go on: {again}", file=sys.stderr)
        raise typer.Exit(130) from None
    failed = print_summary(
        study, cases, kept, scale, _command("report", target, scale, seeds, store), f"{again} --retry", as_json
    )
    if failed:
        raise typer.Exit(1)


@app.command()
def status(
    target: Target,
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    store: Folder = STUDIES,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Count the tasks of a study that are done, running, failed or waiting; print why some failed."""
    from hatchel.cli import printing
    from hatchel.study.store import Store

    kept = Store(store)
    cases = _study(target, plugin).tasks(scale, seeds, kept)
    states = ("done", "running", "failed", "waiting")
    names, counts = printing.label_names(cases), list[dict[str, int]]()
    groups = printing.by_labels(cases)
    for group in groups.values():
        found = [printing.status_of(kept, case.task) for case in group]
        counts.append({state: found.count(state) for state in states})
    failed = printing.failures(cases, kept)
    if as_json:
        rows = [dict(zip(names, key, strict=True)) | count for key, count in zip(groups, counts, strict=True)]
        total = {state: sum(count[state] for count in counts) for state in states}
        printing.print_json({"study": target, "scale": scale, **total, "cases": rows, "errors": failed})
        return
    table = [[*key, *(n or "" for n in count.values())] for key, count in zip(groups, counts, strict=True)]
    printing.print_table([*names, *states], table)
    for line in failed:
        print(line)


@app.command()
def report(
    target: Target,
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    store: Folder = STUDIES,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write; by default STORE/reports/NAME-SCALE.")
    ] = None,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Write a page about a study from its records alone: tables, claims, figures, the paper's numbers beside ours."""
    from hatchel.cli.printing import failures, print_json
    from hatchel.core.errors import HatchelError
    from hatchel.study.report import write_report
    from hatchel.study.store import Store

    study, kept = _study(target, plugin), Store(store)
    cases = study.tasks(scale, seeds, kept)
    frame = kept.frame_of(cases, study.name, scale)
    if not len(frame):
        todo = _command("run", target, scale, seeds, store)
        raise HatchelError(f"{target}: no task is done at {scale} in {store}; first: {todo}")
    machines = dict.fromkeys(str(kept.record(digest).get("machine", "")) for digest in frame["task"].unique())
    folder = out or store / "reports" / f"{study.name}-{scale}"
    failed = failures(cases, kept)
    written = write_report(study, frame, scale, folder, failed, "; ".join(machines))
    if as_json:
        print_json({"report": str(written), "done": frame["task"].nunique(), "failed": failed})
    else:
        print(f"Report: {written}")


@app.command()
def publish(
    target: Target,
    scale: ScaleName = "laptop",
    store: Folder = STUDIES,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="By default docs/results of the source.")] = None,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Keep the records of a study's finished tasks, compressed, with the source, so that another machine goes on.

    [bold]hatchel study publish pool[/]
    """
    from hatchel.cli.printing import print_json
    from hatchel.study.store import PUBLISHED, Store
    from hatchel.study.study import MOST_SEEDS

    kept = Store(store)
    study = _study(target, plugin)
    tasks = [*study.tasks(scale, store=kept), *study.tasks(scale, MOST_SEEDS)]  # more seeds than its own are welcome
    folder = (out or PUBLISHED) / "records"
    new = kept.publish(dict.fromkeys(case.task.digest() for case in tasks), folder)
    if as_json:
        print_json({"folder": str(folder), "new": list(new)})
    else:
        print(f"{folder}: {len(new)} new records")


@app.command()
def claims(
    wanted: Annotated[
        list[str] | None, typer.Argument(metavar="PAPER|ID", help="Some alone: recurd, R2, R2.mig; else all.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="Records; by default ./studies, else the published ones.")] = None,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Print what the papers claim, with the verdict of the records: holds, does not hold, undecided, or not run.

    A verdict takes five seeds; p values are corrected among all claims of a paper.

    [bold]hatchel study claims recurd[/]   of one paper

    [bold]hatchel study claims R2 D5 --json[/]
    """
    from hatchel.cli.options import load_plugins
    from hatchel.cli.printing import print_claims, print_json
    from hatchel.core.errors import HatchelError
    from hatchel.study.study import registry

    if store is not None and not store.is_dir():
        raise HatchelError(f"--store {store}: is not a folder; leave --store out to read the published records")
    load_plugins(plugin)
    found = registry(wanted or (), store)
    if as_json:
        print_json([verdict.to_dict() for verdict in found])
    else:
        print_claims(found)


app.command()(query)
app.command()(export)
app.command()(tune)


def _study(target: str, plugin: list[Path] | None) -> Study:
    from hatchel.cli.options import load_plugins
    from hatchel.study.study import Study

    load_plugins(plugin)
    return Study.load(target)


def _load_data(cases: list[Case], kept: Store, fresh: bool) -> None:
    """Files that are missing are missed before anything is computed; what is built in, or done, needs none."""
    tasks = {case.task.digest(): case.task for case in cases}
    done = [] if fresh else kept.published(tasks)
    ahead = [task for digest, task in tasks.items() if kept.status(digest) != "done" and digest not in done]
    sources = [source for task in ahead for source in task.sources()]
    for source in {source.digest(): source for source in sources}.values():
        if not source.built_in:
            source.load()


def _dry_run(cases: list[Case], kept: Store, engine: Engine, as_json: bool, fresh: bool) -> None:
    from hatchel.cli.printing import label_names, print_json, print_table, status_of
    from hatchel.study.runner import forecast

    names = [*label_names(cases), "seed", "task", "state"]
    digests = [c.task.digest() for c in cases]
    taken = set(() if fresh else kept.published(digests))
    states = ("published" if d in taken else status_of(kept, c.task) for c, d in zip(cases, digests, strict=True))
    known = ({"seed": c.task.seed, "task": d, "state": s} for c, d, s in zip(cases, digests, states, strict=True))
    rows = [{**c.labels, **found} for c, found in zip(cases, known, strict=True)]
    ahead = forecast([c.task for c in cases], kept, engine, taken)
    if as_json:
        print_json({"tasks": rows, "to compute": ahead.tasks, "timed": ahead.timed, "seconds": ahead.seconds})
        return
    print_table(names, [[row.get(name, "") for name in names] for row in rows])
    print(ahead.text())


def _command(
    verb: str, target: str, scale: str, seeds: int | None, store: Path, more: Mapping[str, Sequence[str]] | None = None
) -> str:
    """What to type for this study."""
    words = ["hatchel", "study", verb, target, "--scale", scale]
    words += ["--seeds", str(seeds)] if seeds else []
    words += ["--store", str(store)] if store != STUDIES else []
    words += [word for option, values in (more or {}).items() for value in values for word in (option, value)]
    return shlex.join(words)
