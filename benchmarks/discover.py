"""Does `hatchel discover` choose well, and in time? Labels, which it does not read, tell.

    python benchmarks/discover.py [--minutes 30] [--seeds 3] [--data shapes3d,dsprites] [--store runs/discover]

The whole procedure for each data set, at 32 px, and seed; then where the chosen run stands by MIG among the runs of the
portfolio, each as far as it was trained, and the time that the command took against its budget. What is done is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hatchel.core.files import read_json, write_json

TOP, TIME = 1 / 3, 0.1
"""The share of the portfolio's runs that may be above the chosen one; of the budget, what it may be missed by."""


def discovered(data: str, minutes: float, seed: int, store: Path) -> dict[str, Any]:
    """What the command writes, and the seconds that it took from its start to its end."""
    kept = store / f"{data}-{minutes:g}-minutes-seed-{seed}.json"
    if not kept.is_file():
        store.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "hatchel", "discover", data, "size=32"]
        began = time.monotonic()
        folder = store / f"{data}-{minutes:g}-{seed}"
        options = ["--minutes", f"{minutes:g}", "--seed", f"{seed}", "--store", str(folder), "--quiet"]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        found = next(folder.glob("discover/*/discover.json"))
        write_json(kept, {**read_json(found), "wall": seconds})
    return read_json(kept)


def above(found: Mapping[str, Any]) -> tuple[float, float, int]:
    """MIG of the chosen run, the share of all other runs that are above it, and how many these are.

    A candidate counts as far as it came, with all of its seeds there.
    """
    last = {s["label"]: s for ranked in found["rounds"] for s in ranked}
    chosen = last[found["chosen"]]
    number = int(np.argmax(chosen["agreement"]))
    own = chosen["mig"][number]
    others = [m for label, s in last.items() for i, m in enumerate(s["mig"]) if (label, i) != (found["chosen"], number)]
    return own, float(np.mean(np.array(others) > own)), len(others)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default="shapes3d,dsprites", help="built-in sets of which the labels are known")
    parser.add_argument("--store", type=Path, default=Path("runs/discover"))
    given = parser.parse_args()
    print(f"| data, {given.minutes:g} minutes | seed | chosen | MIG | runs above it | in the top third | minutes |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for data in given.data.split(","):
        for seed in range(given.seeds):
            found = discovered(data, given.minutes, seed, given.store)
            mig, share, count = above(found)
            late = found["wall"] / 60 / given.minutes - 1
            words = [data, str(seed), found["chosen"], f"{mig:.3f}", f"{share * count:.0f} of {count}"]
            words += ["yes" if share <= TOP else "**no**", f"{found['wall'] / 60:.1f} ({late:+.0%})"]
            print(f"| {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
