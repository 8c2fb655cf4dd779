"""`hatchel study tune`."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hatchel.cli.options import STUDIES, AsJson, EngineName, EngineSet, Folder, Plugin, Workers

if TYPE_CHECKING:
    from hatchel.study.engines.engine import Engine

SHOWN = 5
"""Trials in the table at the end."""


def tune(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A method of `hatchel list methods`.")],
    assignments: Annotated[
        list[str],
        typer.Argument(
            metavar="FIELD=LOW..HIGH|FIELD=[A,B]|KEY=VALUE",
            help="A range, a list to choose from, or a value that stays; log:FIELD=LOW..HIGH on a log scale.",
        ),
    ],
    metric: Annotated[
        str, typer.Option(help="A metric or a part of one (mig, dci.completeness), or udr, which needs no factors.")
    ] = "mig",
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, with those of earlier calls.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each trial; the objective is their mean.")] = 3,
    items: Annotated[int, typer.Option("--items", "-n", min=10, help="Items encoded for the metric.")] = 5_000,
    direction: Annotated[
        Literal["minimize", "maximize"] | None, typer.Option(help="By default, the metric's own.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the search; the runs have seeds 0, 1, ...")] = 0,
    engine: EngineName = "local",
    workers: Workers = 0,
    engine_set: EngineSet = None,
    store: Folder = STUDIES,
    plugin: Plugin = None,
    as_json: AsJson = False,
) -> None:
    """Search a method's parameters with Optuna. After a stop, the same command resumes; two at once share the work.

    [bold]hatchel study tune beta_vae beta=1..16 log:optimizer.lr=1e-4..1e-2 steps=3000 --metric mig --trials 30[/]

    [bold]hatchel study tune factor_vae gamma=[5,10,20,40] data=./photos --metric udr --seeds 4[/]   without factors

    Every trial is tasks of the store: a point that was computed before, here or in a study, costs nothing.
    """
    from hatchel.cli.options import load_plugins, parse
    from hatchel.cli.printing import print_json, print_table
    from hatchel.core.spec import from_dict
    from hatchel.data.source import Source
    from hatchel.study.space import dimension
    from hatchel.study.store import Store
    from hatchel.study.table import shown
    from hatchel.study.tune import Search, Tuning

    load_plugins(plugin)
    found = [(text, dimension(method, text)) for text in assignments]
    stays = [text for text, space in found if space is None]
    fixed = parse(stays)
    data = from_dict(Source, fixed.pop("data", "dsprites"), "data")
    space = tuple(space for _, space in found if space is not None)
    tuning = Tuning(method, data, space, metric, fixed, seeds, items, direction, seed)
    where = engine_from(engine, workers, engine_set)
    where.ready()
    if not data.built_in:
        data.load()
    best = Search(tuning, Store(store), where, plugin or ()).go(trials, lambda line: print(line, file=sys.stderr))
    if as_json:
        rows = [{"trial": t.number, "point": t.point, metric: t.found.value} for t in best]
        print_json({"metric": metric, "direction": tuning.way, "seeds": seeds, "trials": rows})
        return
    fields = [d.field for d in space]
    better = "lower" if tuning.way == "minimize" else "higher"
    print(f"\n{metric} ({better} is better), mean over {seeds} seed{'s' * (seeds > 1)}, {len(best)} points:")
    rows = [[t.number, *(_text(t.point[f]) for f in fields), shown(t.found, 4)] for t in best[:SHOWN]]
    print_table(["trial", *fields, f"{metric} [95 % over seeds]" if seeds > 1 else metric], rows)
    print(
        f"\n{metric} was what the points were chosen by, at these very seeds: the best value is a picked one, and too "
        "good as an estimate. Compare methods with other seeds or another metric."
    )
    chosen = [f"{k}={_text(v)}" for k, v in best[0].point.items()]
    command = shlex.join(["hatchel", "train", method, *stays, *chosen, f"seed={seeds}"])
    print(f"To train the best with a new seed: {command}")
    runs = {s: tuning.run(best[0].point).with_fields(seed=s) for s in range(seeds)}
    print(f"Its runs: {', '.join(str(store / 'runs' / f'{r.name}-{r.digest()}') for r in runs.values())}")


def engine_from(text: str, workers: int, fields: list[str] | None) -> Engine:
    """The engine that --engine, --workers and --engine-set name."""
    from hatchel.cli.options import parse
    from hatchel.core.spec import from_dict, updated
    from hatchel.study.engines.engine import Engine

    changes = {**({"workers": workers} if workers else {}), **parse(fields or ())}
    return updated(from_dict(Engine, text), changes) if changes else from_dict(Engine, text)


def _text(value: Any) -> str:
    """As the command line reads it."""
    return value if isinstance(value, str) else json.dumps(value)
