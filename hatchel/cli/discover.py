"""`hatchel discover`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hatchel.cli.options import STUDIES, AsJson, DataOptions, EngineName, EngineSet, Folder, Plugin, Workers


def discover(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A folder of images, an array, a table, or a built-in data set.")
    ],
    options: DataOptions = None,
    minutes: Annotated[float, typer.Option("--minutes", "-m", help="Time to spend.")] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the whole procedure.")] = 0,
    engine: EngineName = "local",
    workers: Workers = 0,
    engine_set: EngineSet = None,
    store: Folder = STUDIES,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """Find out what varies in unlabelled data: train several methods, keep what their seeds agree on, show it.

    [bold]hatchel discover ./photos --minutes 30[/]

    [bold]hatchel discover ./photos size=32 --minutes 60[/]   smaller pictures, more steps

    [bold]hatchel discover measurements.csv[/]

    After a stop, the same command resumes. Labels, where there are any, are not used.
    """
    from hatchel.cli.options import load_plugins, named_source
    from hatchel.cli.printing import live_tally, print_json
    from hatchel.cli.tune import engine_from
    from hatchel.core.files import read_json
    from hatchel.study.discover import Discovery
    from hatchel.study.discover_page import write_discovery
    from hatchel.study.store import Store

    load_plugins(plugin)
    where = engine_from(engine, workers, engine_set)
    where.ready()
    search = Discovery(named_source(data, options), minutes, Store(store), where, seed)
    log = (lambda line: None) if quiet else (lambda line: print(line, file=sys.stderr))
    with live_tally(quiet) as on_progress:
        search.go(log, on_progress)
    log("measuring the chosen model, and the page")
    found = write_discovery(search)
    if as_json:
        print_json(read_json(search.folder / "discover.json"))
        return
    count = len(found.directions)
    print(f"Your data vary along {count} direction{'s' * (count != 1)} ({found.chosen.label}):")
    for direction in found.directions:
        what = direction.follows or direction.moves
        print(f"  {direction.name}  {direction.sure}, agreement {direction.agreement:.2f}{f'  {what}' if what else ''}")
    print(f"Page: {found.page}\nTo look around in it: hatchel explore {found.run}")
