"""A runner in a process of its own: python session.py STORE ENGINE CELLS.json PLUGIN."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hatchel.core.plugins import load_file
from hatchel.core.spec import from_dict, to_dict
from hatchel.study.engines.engine import Engine
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Task


def start(store: Path, engine: str | dict, cells: Sequence[Task], plugin: Path) -> subprocess.Popen[str]:
    """Begin a study of these cells; its standard output ends with the tally."""
    words = [str(store), json.dumps(engine), json.dumps([to_dict(cell) for cell in cells]), str(plugin)]
    command = [sys.executable, str(Path(__file__)), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def tally(process: subprocess.Popen[str]) -> dict[str, int]:
    """How it ended."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out.splitlines()[-1])


def main(store: str, engine: str, cells: str, plugin: str) -> None:
    # Tests that were started in the background pass on that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    load_file(Path(plugin))
    todo = [from_dict(Task, cell) for cell in json.loads(cells)]
    found = run_tasks(todo, Store(store), from_dict(Engine, json.loads(engine)), plugins=[Path(plugin)])
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main(*sys.argv[1:])
