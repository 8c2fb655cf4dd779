"""What a paper claims, held against runs of our own: the part that the five commands of this folder share.

Each command runs the tasks of its studies that decide the paper's main claims, at `laptop` scale, in about 20 minutes
on two cores (`--all`: every task; what is done is not done again). It prints every table with its intervals and every
claim with its verdict, and ends with 0 whatever the outcome: a claim that does not hold here is a finding, no mistake.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hatchel.core.spec import from_dict
from hatchel.study.engines.engine import Engine
from hatchel.study.progress import shown
from hatchel.study.report import markdown
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store, machine
from hatchel.study.study import Study, chosen


def main(about: str | None, studies: Mapping[str, Sequence[str]]) -> None:
    """Studies by name, with the labels (LABEL=VALUE) of the tasks that decide; all of them where none is named."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("smoke", "laptop", "paper"), default="laptop")
    parser.add_argument("--store", type=Path, default=Path("studies"), help="where records are kept [studies]")
    parser.add_argument("--engine", default="local", help="local, here, dask, ray or slurm [local]")
    parser.add_argument("--seeds", type=int, help="in place of the scale's own number")
    parser.add_argument("--all", action="store_true", help="every task of the studies, not the deciding ones alone")
    options = parser.parse_args()
    store, failed = Store(options.store).create(), 0
    for name, deciding in studies.items():
        study = Study.load(name)
        cases = study.tasks(options.scale, options.seeds)
        store.write_study(name, options.scale, cases)
        some = cases if options.all or options.scale == "smoke" else chosen(cases, deciding)
        engine: Any = from_dict(Engine, options.engine)
        with shown() as on_progress:
            tally = run_tasks([case.task for case in some], store, engine, on_progress=on_progress)
        failed += tally.failed
        print(markdown(study, store.frame_of(cases, name, options.scale), options.scale, machine()), flush=True)
    sys.exit(1 if failed else 0)
