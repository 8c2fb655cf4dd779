"""What a paper claims, held against runs of our own: the part that the five commands of this folder share.

Each command runs its studies at `laptop` scale (10 to 20 minutes a study on two cores; what is done is not
done again), prints every table with its intervals and every claim with its verdict, and ends with 0 whatever the
outcome: a claim that does not hold here is a finding, not a mistake.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hatchel.spec import decode
from hatchel.study.engines.engine import Engine
from hatchel.study.progress import watched
from hatchel.study.report import markdown
from hatchel.study.runner import run_cells
from hatchel.study.store import Store, machine
from hatchel.study.study import Study


def main(about: str | None, *names: str, data: str = "all") -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("smoke", "laptop", "paper"), default="laptop")
    parser.add_argument("--store", type=Path, default=Path("studies"), help="where records are kept [studies]")
    parser.add_argument("--engine", default="local", help="local, here, dask, ray or slurm [local]")
    parser.add_argument("--seeds", type=int, help="in place of the scale's own number")
    parser.add_argument("--data", default=data, help=f"of studies on several data sets this one, or all [{data}]")
    options = parser.parse_args()
    store, failed = Store(options.store).create(), 0
    for name in names:
        study = decode(Study, name)
        entries = [
            e
            for e in study.entries(options.scale, options.seeds)
            if options.data in ("all", e.labels.get("data", options.data))
        ]
        store.write_study(name, options.scale, entries)
        engine: Any = decode(Engine, options.engine)
        with watched() as tell:
            tally = run_cells([e.cell for e in entries], store, engine, tell=tell)
        failed += tally.failed
        print(markdown(study, store.rows(entries), options.scale, machine()), flush=True)
    sys.exit(1 if failed else 0)
