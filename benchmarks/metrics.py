"""Metrics against the plain scikit-learn computation, both sides in one run, one thread each.

    python benchmarks/metrics.py [--quick]

10,000 training and 5,000 test codes of 10 dimensions with the factors of dSprites and of Shapes3D: rotated factors with
noise, or the fixed arrays of the folder HATCHEL_TEST_ORACLES, where DCI is also compared with the stored values of the
reference library. Times are processor time of one thread, so that other work on the machine does not count. --quick
fits scikit-learn's boosting for the factor with the fewest classes only and scales by the number of trees. Exit code 1
if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score, roc_auc_score
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from hatchel.metrics import (
    DCI,
    MIG,
    SAP,
    BetaVAEScore,
    Explicitness,
    FactorVAEScore,
    InfoMEC,
    Modularity,
    Probe,
)  # fmt: skip

SIZES = {"dsprites": (3, 6, 40, 32, 32), "shapes3d": (10, 10, 10, 8, 4, 15)}
TARGETS = {"DCI": 60.0, "MIG": 10.0}
SUITE_SECONDS, BOOTSTRAP_SECONDS = 6.0, 2.0
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def made(space: str) -> Split:
    """Factors on a grid, scaled to [-1, 1], rotated into 10 dimensions, with noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(s, size=15_000) for s in SIZES[space]], axis=1)
    scaled = 2 * factors / (np.array(SIZES[space]) - 1) - 1
    rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    padded = np.c_[scaled, 0.3 * rng.normal(size=(15_000, 10 - scaled.shape[1]))]
    codes = ((padded + 0.01 * rng.normal(size=padded.shape)) @ rotation).astype(np.float32)
    return codes[:10_000], factors[:10_000], codes[10_000:], factors[10_000:]


def stored(folder: Path, case: str) -> Split:
    with np.load(folder / f"{case}.npz") as d:
        arrays = d["codes_train"], d["factors_train"], d["codes_test"], d["factors_test"]
    return arrays[0], arrays[1].astype(np.int64), arrays[2], arrays[3].astype(np.int64)


# -- the plain computation, as the reference library has it --------------------------------------------------------


def plain_dci(split: Split, quick: bool) -> tuple[float, str]:
    codes, factors, test, test_factors = split
    sizes = factors.max(axis=0) + 1
    chosen = [int(sizes.argmin())] if quick else range(factors.shape[1])
    start = time.process_time()
    for k in chosen:
        model = GradientBoostingClassifier(random_state=0).fit(codes, factors[:, k])
        _ = model.feature_importances_, model.score(codes, factors[:, k]), model.score(test, test_factors[:, k])
    taken = time.process_time() - start
    if not quick:
        return taken, "measured in full"
    few, all_trees = int(sizes[chosen[0]]), int(sizes.sum())
    return taken * all_trees / few, f"scaled from {few} of {all_trees} classes ({taken:.1f} s)"


def plain_sap(split: Split) -> None:
    codes, factors, test, test_factors = split
    for d in range(codes.shape[1]):
        for k in range(factors.shape[1]):
            model = LinearSVC(C=0.01, class_weight="balanced").fit(codes[:, d : d + 1], factors[:, k])
            (model.predict(test[:, d : d + 1]) == test_factors[:, k]).mean()


def plain_information(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    return np.array([[mutual_info_score(z, v) for v in factors.T] for z in binned])


def plain_mig(split: Split) -> None:
    information = np.sort(plain_information(split[0], split[1]), axis=0)
    entropy = np.array([mutual_info_score(v, v) for v in split[1].T])
    ((information[-1] - information[-2]) / entropy).mean()


def plain_modularity_explicitness(split: Split) -> None:
    codes, factors, test, test_factors = split
    squares = plain_information(codes, factors) ** 2
    (1 - (squares.sum(axis=1) / squares.max(axis=1) - 1) / (factors.shape[1] - 1)).mean()
    centre, spread = codes.mean(axis=0), codes.std(axis=0)
    codes, test = (codes - centre) / spread, (test - centre) / spread
    for k in range(factors.shape[1]):
        model = LogisticRegression().fit(codes, factors[:, k])
        for z, v in ((codes, factors[:, k]), (test, test_factors[:, k])):
            roc_auc_score(v[:, None] == np.arange(factors[:, k].max() + 1), model.predict_proba(z))


def plain_infomec(split: Split) -> None:
    codes, factors, *_ = split
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    for v in factors.T:
        for d in range(codes.shape[1]):
            mutual_info_classif(codes[:, d : d + 1], v, discrete_features=False, n_neighbors=10, random_state=0)
        for inputs in (codes, np.zeros_like(codes)):
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(inputs, v)
            log_loss(v, model.predict_proba(inputs))


def members(factors: np.ndarray) -> list[list[np.ndarray]]:
    return [[np.flatnonzero(v == value) for value in range(v.max() + 1)] for v in factors.T]


def plain_factor_vae(split: Split) -> None:
    codes, factors, *_ = split
    rng, rows, spread = np.random.default_rng(0), members(factors), codes.var(axis=0)
    votes = np.zeros((codes.shape[1], factors.shape[1]))
    for _ in range(15_000):
        k = rng.integers(factors.shape[1])
        batch = rng.choice(rows[k][rng.integers(len(rows[k]))], 64)
        votes[np.argmin(codes[batch].var(axis=0) / spread), k] += 1


def plain_beta_vae(split: Split) -> None:
    codes, factors, *_ = split
    rng, rows = np.random.default_rng(0), members(factors)
    points, labels = np.empty((15_000, codes.shape[1])), rng.integers(factors.shape[1], size=15_000)
    for i, k in enumerate(labels):
        left = rng.integers(len(codes), size=64)
        pools = [rows[k][value] for value in factors[left, k]]
        right = [pool[int(u * len(pool))] for pool, u in zip(pools, rng.random(64), strict=True)]
        points[i] = np.abs(codes[left] - codes[right]).mean(axis=0)
    model = LogisticRegression().fit(points[:10_000], labels[:10_000])
    model.score(points[10_000:], labels[10_000:])


# -- both sides ----------------------------------------------------------------------------------------------------


def seconds(work: Callable[[], Any], rounds: int = 1) -> float:
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def ours(split: Split, *metrics: Any) -> Callable[[], None]:
    """From arrays to scores; nothing is kept from an earlier call."""

    def work() -> None:
        probe = Probe.split((split[0], split[1]), (split[2], split[3]))
        for metric in metrics:
            metric.score(probe)

    return work


def compare(split: Split, quick: bool) -> Iterator[tuple[str, float, float, str]]:
    reference, remark = plain_dci(split, quick)
    yield "DCI", seconds(ours(split, DCI())), reference, remark
    rounds = 1 if quick else 3
    pairs: list[tuple[str, tuple[Any, ...], Callable[[Split], None]]] = [
        ("SAP", (SAP(),), plain_sap),
        ("MIG", (MIG(),), plain_mig),
        ("modularity + explicitness", (Modularity(), Explicitness()), plain_modularity_explicitness),
        ("InfoMEC", (InfoMEC(),), plain_infomec),
        ("FactorVAE score", (FactorVAEScore(),), plain_factor_vae),
        ("BetaVAE score", (BetaVAEScore(),), plain_beta_vae),
    ]
    for name, metrics, plain in pairs:
        yield name, seconds(ours(split, *metrics), rounds), seconds(lambda plain=plain: plain(split), rounds), ""


SUITE = """
import sys, time
import numpy as np, torch, sklearn.ensemble, sklearn.linear_model
from hatchel.metrics import Metric, evaluate
Metric.members()
d = np.load(sys.argv[1])
codes, factors = d["codes"], d["factors"]
def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024
try:
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")  # forget the peak of the imports
    before = memory("VmRSS")
except OSError:
    before = float("nan")
wall, cpu = time.perf_counter(), time.process_time()
scores = evaluate(codes, factors)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu, memory("VmHWM") - before if before == before else before, len(scores))
"""


def suite(split: Split) -> tuple[float, float, float, int]:
    """Wall-clock and processor seconds, MiB above the imports, and how many metrics, in a process with two threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npz"
        np.savez(path, codes=np.r_[split[0], split[2]], factors=np.r_[split[1], split[3]])
        environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
        command = [sys.executable, "-c", SUITE, str(path)]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    return float(out[-4]), float(out[-3]), float(out[-2]), int(out[-1])


def agreement(folder: Path) -> Iterator[tuple[str, float, float]]:
    """DCI minus the reference library's, D and C, on every stored case."""
    for row in json.loads((folder / "reference_values.json").read_text()):
        if row["function"] != "dci.compute_dci":
            continue
        case = f"{row['space']}__{row['case']}"
        split = stored(folder, case)
        parts = DCI().score(Probe.split((split[0], split[1]), (split[2], split[3]))).parts
        yield case, *(parts[k] - row["values"][k] for k in ("disentanglement", "completeness"))  # type: ignore[misc]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="time scikit-learn's boosting on one factor and scale")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    threadpool_limits(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    folder = Path(os.environ["HATCHEL_TEST_ORACLES"]) if "HATCHEL_TEST_ORACLES" in os.environ else None
    print(f"processor seconds of one thread; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    missed = 0

    def line(name: str, took: str, against: str, good: bool, target: str, remark: str = "") -> None:
        nonlocal missed
        missed += not good
        print(f"  {name:<34}{took:>10}{against:>14}  {target} {'met' if good else 'MISSED'}  {remark}", flush=True)

    for space in SIZES:
        split = stored(folder, f"{space}__b_rotated") if folder else made(space)
        ours(split, MIG(), Explicitness())()  # imports and first calls
        print(f"{space}, {'rotated oracle codes' if folder else 'rotated codes'}: hatchel, plain, ratio")
        for name, mine, theirs, remark in compare(split, quick):
            target = TARGETS.get(name, 5.0)
            ratio = theirs / mine
            line(
                name,
                f"{mine:.3f} s",
                f"{theirs:.2f} s",
                ratio >= target,
                f"{ratio:6.1f}x, target {target:.0f}x",
                remark,
            )
        probe = Probe.split((split[0], split[1]), (split[2], split[3]))
        taken = seconds(lambda probe=probe: MIG().score(probe, 0, 200))
        line("200 bootstrap replicates of MIG", f"{taken:.2f} s", "", taken < BOOTSTRAP_SECONDS, "target 2 s")
        wall, cpu, peak, count = suite(split)
        remark = f"{count} metrics, {cpu:.1f} s of processor, peak {peak:.0f} MiB above the imports"
        line(
            "whole suite on two cores", f"{wall:.1f} s", "", wall < SUITE_SECONDS, f"target {SUITE_SECONDS:g} s", remark
        )
        print()
    if folder:
        print("DCI minus the reference library's, target within 0.02: disentanglement, completeness")
        for case, d, c in agreement(folder):
            line(case, f"{d:+.4f}", f"{c:+.4f}", max(abs(d), abs(c)) <= 0.02, "target 0.02")
    print(f"\n{missed} targets missed" if missed else "\nall targets met")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
