"""Every metric's seconds, memory at a million rows, and codes of a thousand dimensions; one thread, one process each.

    python benchmarks/metrics_suite.py [--before FOLDER] [--quick]

The codes are those of benchmarks/metrics.py: rotated factors of Shapes3D with noise, 15,000 x 10. `--before`: another
checkout of the package, measured in turn with this one; the table then has both. `rows()` gives the lines of the tables
to whoever writes a page.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
TARGET = 6.0
"""Seconds of the whole suite."""

MEASURE = """
import json, sys, time, warnings
import numpy as np, torch
import sklearn.ensemble, sklearn.linear_model, scipy.special, scipy.stats
from hatchel.metrics import Metric, Probe
warnings.simplefilter("ignore")
torch.set_num_threads(1)
n, dims, left_out = json.loads(sys.argv[1])
rng, sizes = np.random.default_rng(0), np.array([10, 10, 10, 8, 4, 15])
factors = rng.integers(sizes, size=(n, 6))
padded = np.c_[2 * factors / (sizes - 1) - 1, 0.3 * rng.normal(size=(n, 4))] + 0.01 * rng.normal(size=(n, 10))
mix = np.linalg.qr(rng.normal(size=(10, 10)))[0]
if dims > 10:
    mix = rng.normal(size=(10, dims)) * (rng.random(dims) < 0.3)
codes = padded @ mix + (0 if dims == 10 else 0.1 * rng.normal(size=(n, dims)))
std = np.full(codes.shape, 0.1)

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

def once(metric):
    probe = Probe(codes, factors, std=std, continuous=False, ordered=factors + 0.0)
    if metric.missing(probe):
        return None
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")  # forget the peak so far
    except OSError:
        pass
    before, start = memory("VmRSS"), time.process_time()
    try:
        value = metric.score(probe).value
    except Exception as error:
        return None
    return time.process_time() - start, memory("VmHWM") - before, value

once(Metric.members()["explicitness"]()) if n < 100_000 and dims == 10 else None  # first calls
for kind, member in Metric.members().items():
    found = None if kind in left_out else once(member())
    if found:
        print(json.dumps([kind, *found]), flush=True)
"""


def measured(n: int, dims: int, folder: Path = HERE, left_out: tuple[str, ...] = ()) -> dict[str, list[float]]:
    """{metric: seconds, MiB above what was there, value}, each from a probe of its own."""
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, json.dumps([n, dims, left_out])]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return {kind: numbers for kind, *numbers in map(json.loads, done.stdout.splitlines())}


def of_suite(before: Path | None = None, rounds: int = 3) -> list[str]:
    """Seconds of each metric on 15,000 x 10, now and before, in turn; medians."""
    sides = {"before": before, "now": HERE} if before else {"now": HERE}
    runs: dict[str, list[dict[str, list[float]]]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, folder in sides.items():
            assert folder is not None
            runs[name].append(measured(15_000, 10, folder))
    kinds = [kind for kind in runs["now"][0] if all(kind in found for found in runs[next(iter(sides))])]
    seconds = {name: {k: statistics.median(r[k][0] for r in found) for k in kinds} for name, found in runs.items()}
    lines = [f"| 15,000 x 10, seconds of one thread | {' | '.join(sides)} |", f"| --- |{' --- |' * len(sides)}"]
    lines += [
        f"| {kind} | {' | '.join(f'{seconds[name][kind]:.3f}' for name in sides)} |"
        for kind in sorted(kinds, key=lambda k: -seconds["now"][k])
    ]
    totals = {name: sum(each.values()) for name, each in seconds.items()}
    lines.append(f"| all {len(kinds)} | {' | '.join(f'{totals[name]:.1f}' for name in sides)} |")
    verdict = "met" if totals["now"] <= TARGET else "**missed**"
    return [*lines, "", f"The whole suite, each metric from nothing: at most {TARGET:g} s: {verdict}."]


def of_size() -> list[str]:
    """Seconds and memory of a million rows, and of a thousand dimensions."""
    tall, wide = measured(1_000_000, 10), measured(10_000, 1024, left_out=("dci",))
    lines = ["| | 1,000,000 x 10, s | MiB | 10,000 x 1024, s | MiB |", "| --- | --- | --- | --- | --- |"]
    for kind in tall:
        sides = [f"{found[kind][0]:.1f} | {found[kind][1]:.0f}" if kind in found else " | " for found in (tall, wide)]
        lines.append(f"| {kind} | {' | '.join(sides)} |")
    return [*lines, "", "The codes themselves are 76 and 78 MiB. Empty: more dimensions than it can read, or left out."]


def rows(before: Path | None = None, rounds: int = 3, sizes: bool = True) -> list[str]:
    """The tables as lines of Markdown."""
    return [*of_suite(before, rounds), *(["", *of_size()] if sizes else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, measured in turn with this one")
    parser.add_argument("--quick", action="store_true", help="one round, and no large codes")
    options = parser.parse_args()
    print("\n".join(rows(options.before, 1 if options.quick else 3, not options.quick)))


if __name__ == "__main__":
    main()
