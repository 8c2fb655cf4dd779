"""Information isolation and total correlation by several estimators, where the truth is known.

    python benchmarks/total_correlation.py [--rows 10000]

Part 1: ten dimensions, means N(0, (1 - s²) I), noise of deviation s and correlation r (Split Encoder 2019, Eq. 6): the
isolation by the learned density of `total_correlation`, from the covariance, by the sum over posteriors, by a
discriminator between codes and codes shuffled in each dimension, and by nearest neighbours (Kraskov et al. 2004, for
several variables). Part 2: dependence of other kinds. Exit code 1 if the density is off by more than 0.3 nats in part 1
or 15 % in part 2, or takes more than 10 seconds of one thread.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma
from sklearn.neural_network import MLPClassifier

from hatchel.metrics import information_isolation
from hatchel.metrics.solvers.density import Density, total_correlation

Array = np.ndarray


def by_neighbours(z: Array, k: int = 3) -> float:
    """psi(k) + (D - 1) psi(n) - E sum_d psi(n_d + 1), n_d the rows nearer in dimension d than the k-th neighbour."""
    n, dims = z.shape
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    distance = cKDTree(z).query(z, k + 1, p=np.inf)[0][:, -1]
    total = 0.0
    for d in range(dims):
        line = np.sort(z[:, d])
        inside = np.searchsorted(line, z[:, d] + distance) - np.searchsorted(line, z[:, d] - distance, side="right")
        total += digamma(np.maximum(inside, 1)).mean()
    return float(digamma(k) + (dims - 1) * digamma(n) - total)


def by_covariance(z: Array) -> float:
    """As if codes were Gaussian."""
    return float(-0.5 * np.linalg.slogdet(np.corrcoef(z, rowvar=False) + 1e-12 * np.eye(z.shape[1]))[1])


def by_discriminator(z: Array, rng: np.random.Generator) -> float:
    """E log D / (1 - D) on rows held out, D trained to tell codes from shuffled codes (Kim & Mnih 2018, Eq. 3)."""
    shuffled = np.stack([rng.permutation(column) for column in z.T], axis=1)
    half = len(z) // 2
    model = MLPClassifier((128, 128), early_stopping=True, random_state=0, max_iter=100)
    model.fit(np.r_[z[:half], shuffled[:half]], np.r_[np.ones(half), np.zeros(half)])
    log_p = model.predict_log_proba(z[half:])
    return float((log_p[:, 1] - log_p[:, 0]).mean())


def timed(z: Array, rng: np.random.Generator) -> tuple[Density, float]:
    start = time.process_time()
    return total_correlation(z, rng), time.process_time() - start


def isolation(n: int) -> bool:
    columns = ("covariance", "mixture", "discriminator", "neighbours")
    print(f"{'s, r':<9} {'truth':>6}  {'density':<24}", *(f"{c:>13}" for c in columns))
    good = True
    for s in (0.2, 0.3, 0.5):
        for r in (0.0, 0.9):
            rng = np.random.default_rng(1)
            noise = (1 - r) * np.eye(10) + r
            both = (1 - s**2) * np.eye(10) + s**2 * noise
            conditional = -0.5 * np.linalg.slogdet(noise)[1]
            truth = conditional + 0.5 * np.linalg.slogdet(both)[1]
            mean, std = rng.normal(size=(n, 10)) * np.sqrt(1 - s**2), np.full(10, s)
            z = mean + s * rng.multivariate_normal(np.zeros(10), noise, size=n)
            score = information_isolation(mean, std, noise=noise)
            mixture = information_isolation(mean, std, noise=noise, by="mixture", draws=500).value
            near, told = conditional - by_neighbours(z), conditional - by_discriminator(z, rng)
            others = (conditional - by_covariance(z), mixture, told, near)
            bar = score.interval
            assert bar is not None
            good &= abs(score.value - truth) <= 0.3
            text = f"{score.value:.3f} [{bar.low:.3f}, {bar.high:.3f}]"
            print(f"{s}, {r:<4} {truth:6.2f}  {text:<24}", *(f"{other:13.2f}" for other in others), flush=True)
    return good


def kinds(n: int) -> bool:
    rng = np.random.default_rng(2)
    turn, radius = rng.uniform(0, 2 * np.pi, n), 1 + 0.1 * rng.normal(size=n)
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    sign = rng.choice([-1, 1], size=(n, 3))
    sign[:, 2] = sign[:, 0] * sign[:, 1]
    half = np.abs(rng.normal(size=(n, 3)))
    level = rng.integers(3, size=(n, 2))
    cases = {  # the ring's by numerical integration (tests/metrics/test_dependence.py)
        "ring": (ring, 0.674),
        "ring and 8 others": (np.c_[ring, rng.normal(size=(n, 8))], 0.674),
        "one sign for two": (sign[:, :1] * half[:, :2], np.log(2)),
        "the third sign from two": (sign * half, np.log(2)),
        "that and 7 others": (np.c_[sign * half, rng.normal(size=(n, 7))], np.log(2)),
        "three values, copied": (np.c_[level, level[:, 0]], np.log(3)),
        "uniform, independent": (rng.uniform(size=(n, 10)), 0.0),
    }
    good = True
    print(f"\n{'codes':<24} {'truth':>6}  {'density':<22} {'covariance':>10} {'neighbours':>10} {'seconds':>8}")
    for name, (z, truth) in cases.items():
        found, seconds = timed(z, rng)
        low, high = found.ends
        near = by_neighbours(z + 1e-6 * rng.normal(size=z.shape))
        good &= abs(found.value - truth) <= max(0.15 * truth, 0.05) and seconds <= 10
        text = f"{found.value:.3f} [{low:.3f}, {high:.3f}]"
        print(f"{name:<24} {truth:6.3f}  {text:<22} {by_covariance(z):10.3f} {near:10.3f} {seconds:8.1f}", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    rows = parser.parse_args().rows
    results = [isolation(rows), kinds(rows)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
