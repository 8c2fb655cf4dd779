"""Every metric's seconds, memory at a million rows, and codes of a thousand dimensions; one thread, one process each.

    python benchmarks/metrics_suite.py [--before FOLDER] [--quick]

The codes are those of benchmarks/metrics.py: rotated factors of Shapes3D with noise, 15,000 x 10. `--before`: another
checkout of the package, measured in turn with this one; the table then has both. `section()` gives the lines of
docs/speed.md, with DCI beside scikit-learn's boosted trees.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import metrics
import numpy as np

from hatchel.metrics import DCI, Probe

HERE = Path(__file__).parents[1]
D_TARGET = 0.02
"""How far D may be from scikit-learn's."""
WIDE_TARGET = 120.0
"""Seconds of any metric of a thousand dimensions."""

MEASURE = """
import json, sys, time, warnings
import numpy as np, torch
import sklearn.ensemble, sklearn.linear_model, scipy.special, scipy.stats
from hatchel.core.errors import HatchelError
from hatchel.metrics import Metric, Probe
warnings.simplefilter("ignore")
torch.set_num_threads(1)
n, dims, shared = json.loads(sys.argv[1])
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

def probed():
    probe = Probe(codes, factors, std=std, continuous=False, ordered=factors + 0.0)
    probe.classes
    return probe

def once(*metrics):
    probe = probed()
    chosen = [metric for metric in metrics if not metric.missing(probe)]
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")  # forget the peak so far
    except OSError:
        pass
    before, start = memory("VmRSS"), time.process_time()
    values = []
    for metric in chosen:
        try:
            values.append(metric.score(probe).value)
        except HatchelError:  # more dimensions than it can read
            pass
    return (time.process_time() - start, memory("VmHWM") - before, *values) if values else None

once(Metric.members()["explicitness"]()) if n < 100_000 and dims == 10 else None  # first calls
members = {kind: member() for kind, member in Metric.members().items()}
for kind, chosen in {"together": members.values()}.items() if shared else ((k, [m]) for k, m in members.items()):
    if found := once(*chosen):
        print(json.dumps([kind, *found]), flush=True)
"""


def measured(n: int, dims: int, folder: Path = HERE, shared: bool = False) -> dict[str, list[float]]:
    """{metric: seconds, MiB above the arrays, value}, each from a probe of its own; `shared`: all of them from one."""
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, json.dumps([n, dims, shared])]
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
    together = statistics.median(measured(15_000, 10, shared=True)["together"][0] for _ in range(rounds))
    lines.append(f"| all from one probe, as `evaluate` |{' |' * (len(sides) - 1)} {together:.1f} |")
    verdict = _verdict(totals["now"], metrics.SUITE_SECONDS, "s")
    return [*lines, "", f"The whole suite, each metric from nothing: {verdict}."]


def _verdict(value: float, most: float, unit: str) -> str:
    return f"{value:.1f} {unit}, at most {most:g}: {'met' if value <= most else '**missed**'}"


def of_size() -> list[str]:
    """Seconds and memory of a million rows, and of a thousand dimensions."""
    tall, wide = measured(1_000_000, 10), measured(10_000, 1024)
    lines = ["| | 1,000,000 x 10, s | MiB | 10,000 x 1024, s | MiB |", "| --- | --- | --- | --- | --- |"]
    for kind in tall:
        sides = [f"{found[kind][0]:.1f} | {found[kind][1]:.0f}" if kind in found else " | " for found in (tall, wide)]
        lines.append(f"| {kind} | {' | '.join(sides)} |")
    slowest = max(wide, key=lambda kind: wide[kind][0])
    total = sum(found[0] for found in wide.values())
    peaks = {n: measured(n, 10, shared=True)["together"][1] for n in (10_000, 100_000, 1_000_000)}
    said = ", ".join(f"{peak:.0f} MiB of {n:,} rows" for n, peak in peaks.items())
    return [
        *lines,
        "",
        f"MiB are above the arrays (codes 76 and 78 MiB); empty: more dimensions than it can read. All {len(tall)} "
        f"from one probe take, above its arrays, {said} (their codes: 0.8, 8 and 76 MiB).",
        "",
        f"The {len(wide)} metrics of 1,024 dimensions take {total / 60:.1f} minutes; the slowest is {slowest}: "
        f"{_verdict(wide[slowest][0], WIDE_TARGET, 's')}.",
    ]


def of_dci(rounds: int) -> list[str]:
    """Beside scikit-learn's trees: seconds and D of several kinds of codes, and seconds of all factors of Shapes3D."""
    split = metrics.made("shapes3d")
    rng = np.random.default_rng(1)
    factors, test = (split[i][:, 3:5] for i in (1, 3))  # 8 and 4 classes, so that both sides are measured in full
    kinds = {
        "rotated": lambda codes, v: codes,
        "perfect": lambda codes, v: np.c_[v, rng.normal(size=(len(v), 8))],
        "noise": lambda codes, v: rng.normal(size=codes.shape),
        "non-linear": lambda codes, v: np.sin(3 * codes) + 0.1 * rng.normal(size=codes.shape),
    }
    lines = [
        "| DCI, 10,000 + 5,000 rows x 10 | scikit-learn, s | Hatchel, s | times as fast | D minus scikit-learn's |",
        "| --- | --- | --- | --- | --- |",
    ]
    apart: list[float] = []
    for name, kind in kinds.items():
        probe = Probe.split((kind(split[0], factors), factors), (kind(split[2], test), test))
        took, values = [], []
        for metric in (DCI(engine="sklearn"), DCI()):
            start = time.process_time()
            values.append(metric.score(probe).value)
            took.append(time.process_time() - start)
        apart.append(abs(values[1] - values[0]))
        shown = f"{took[0]:.1f} | {took[1]:.2f} | {took[0] / took[1]:.0f} | {values[1] - values[0]:+.4f}"
        lines.append(f"| {name}, 2 factors, 12 classes | {shown} |")
    ratios: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        ours, plain = metrics.seconds(metrics.ours(split, DCI())), metrics.plain_dci(split, True)[0]
        ratios.append((plain / ours, plain, ours))
    ratio, plain, ours = (statistics.median(column) for column in zip(*ratios, strict=True))
    shown = f"{plain:.0f} (scaled from 4 classes) | {ours:.2f} | {ratio:.0f}"
    lines.append(f"| rotated, 6 factors, 57 classes | {shown} | |")
    least = metrics.TARGETS["DCI"]
    speed, near = ("met" if good else "**missed**" for good in (ratio >= least, max(apart) <= D_TARGET))
    return [
        *lines,
        "",
        f"At least {least:g} times as fast: {speed}; D within {D_TARGET:g}: {near}. `engine=sklearn` puts its "
        "trees in the place of ours.",
    ]


def section(rounds: int) -> list[str]:
    """For docs/speed.md."""
    few = min(rounds, 3)
    return [*of_suite(rounds=few), "", *of_dci(few), "", *of_size()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, measured in turn with this one")
    parser.add_argument("--quick", action="store_true", help="one round, and no large codes")
    options = parser.parse_args()
    rounds = 1 if options.quick else 3
    print("\n".join([*of_suite(options.before, rounds), *([] if options.quick else ["", *of_size()])]))


if __name__ == "__main__":
    main()
