"""Cells whose records every engine must agree on, digit for digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.study.engines.engine import Engine
from hatchel.study.grid import metrics
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Task
from hatchel.study.trained import Trained
from tests.study.toy import Toy, plugin

FIELDS = {"steps": 3, "batch_size": 16, "encoder": "conv", "decoder": "deconv", "optimizer.lr": 1e-3}


def cells(folder: Path) -> list[Task]:
    """Two small trainings, one of them with a critic, and a toy that fails."""
    runs = [resolve(name, "xy_squares", FIELDS) for name in ("beta_vae", "factor_vae")]
    runs[1] = updated(runs[1], {"objective.tc.term.by.hidden": 32})
    trained = [
        Trained(seed=i, run=run, metrics=metrics("mig", "reconstruction"), items=64) for i, run in enumerate(runs)
    ]
    return [*trained, Toy(seed=2, log=str(folder / "log")), Toy(seed=3, log=str(folder / "log"), act="raise")]


def records(engine: Engine, folder: Path, cells: list[Task]) -> dict[str, Any]:
    """What an engine made of them: values and details by digest, the message where one failed."""
    store = Store(folder / engine.kind)
    plugins = [] if engine.kind == "here" else [plugin(folder)]
    tally = run_tasks(cells, store, engine, plugins=plugins)
    assert (tally.done, tally.failed) == (3, 1)
    found: dict[str, Any] = {d: {k: store.record(d)[k] for k in ("cell", "values", "details")} for d in store.digests()}
    return found | {c.digest(): store.error(c.digest()) for c in cells if store.status(c.digest()) == "failed"}
