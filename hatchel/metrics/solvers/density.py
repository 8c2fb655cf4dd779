"""Total correlation of any codes: a Gaussian copula, and what a learned density sees beyond it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from hatchel.metrics.inputs import Float
from hatchel.metrics.solvers.boosting import single_threaded
from hatchel.metrics.solvers.conditionals import RATE, Conditionals

ROWS = 10_000
"""Rows that are read; of more, so many are drawn."""
BATCHES, EPOCHS, PATIENCE = 26, 50, 10
LEAST = 64
"""Rows of a batch, of which there are then fewer."""
READ = 1024
"""Rows of a batch that is only read."""
MISSED = 0.1
"""Share of the residual that a mixture misses at sharp edges; up to so much where the truth is known (benchmarks)."""
RIDGE = 1e-6
"""Keeps the correlation matrix of copied dimensions positive definite: their total correlation ends near 7 nats."""


@dataclass(frozen=True)
class Density:
    """KL(p(z) || prod p(z_d)) of the copula, of the residual, and how far the sum may be off."""

    copula: float
    residual: float
    standard_error: float
    bias: float
    """Nats that more rows may still find, since a density fitted to few falls short: from the training rows' own
    likelihood, from a fit to half of them, and a share for sharp edges."""

    @property
    def value(self) -> float:
        return max(0.0, self.copula + self.residual)

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval: the standard error to both sides, the bias upwards."""
        reach = 1.96 * self.standard_error
        return max(0.0, self.value - reach), self.value + reach + self.bias


def total_correlation(codes: Float, rng: np.random.Generator) -> Density:
    """TC of codes (n, D), none of them constant.

    It does not change when each dimension is put through its own increasing map, so every one is made normal by its
    ranks (ties in random order, which keeps discrete codes' TC). With R the correlation of the result u, TC(u) =
    -1/2 log det R + KL(p(u) || N(0, R)). The first is nearly free of error; the second is the likelihood, on rows held
    out, of a density p(u_d | u_1 .. u_d-1) that starts at the copula's own.
    """
    if len(codes) > ROWS:
        codes = codes[some_rows(len(codes), rng)]
    n, dims = codes.shape
    if dims < 2:
        return Density(0.0, 0.0, 0.0, 0.0)
    normal = gaussianised(codes, rng)
    root = np.linalg.cholesky((1 - RIDGE) * np.corrcoef(normal, rowvar=False) + RIDGE * np.eye(dims))
    white = np.linalg.solve(root, normal.T).T.astype(np.float64)  # (n, D): u_d given u_1 .. u_d-1, standardised
    copula = -float(np.log(np.diag(root)).sum()) - dims * (dims - 1) / (4 * n)  # less its mean where R = I
    influence = 0.5 * (normal**2 - white**2).sum(axis=1)  # of one row on log det R
    order = rng.permutation(n)
    train, held_out = order[: 2 * n // 3], order[2 * n // 3 :]
    seed = int(rng.integers(2**31))
    parts = train, train[: len(train) // 2]
    with single_threaded() as threads, ThreadPoolExecutor(min(threads, 2)) as pool:
        fits = pool.map(lambda rows: _residual(normal, white, rows, held_out, seed), parts)
        (found, fitted), (half, _) = fits
    residual = float(found.mean())
    gained = max(residual, 0.0) - max(float(half.mean()), 0.0)
    bias = max(0.0, fitted - residual, gained / (math.sqrt(2) - 1))  # as if what is missed fell with 1 / sqrt(rows)
    bias += MISSED * max(residual, 0.0)
    error = math.sqrt(influence.var() / n + found.var() / len(found))
    return Density(copula, max(0.0, residual), error, bias)


def some_rows(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The rows of n that are read."""
    return rng.choice(n, ROWS, replace=False) if n > ROWS else np.arange(n)


def gaussianised(codes: Float, rng: np.random.Generator) -> Float:
    """(n, D): every dimension's normal scores; equal codes in random order."""
    n = len(codes)
    scores = ndtri((np.arange(n) + 0.5) / n)
    result = np.empty(codes.shape)
    for d, column in enumerate(codes.T):
        result[np.lexsort((rng.random(n), column)), d] = scores
    return result


def _residual(
    normal: Float, white: Float, train: NDArray[np.int64], held_out: NDArray[np.int64], seed: int
) -> tuple[Float, float]:
    """The held-out rows' log p(w) - log N(w; 0, I), and the mean of the training rows' at the same time.

    The two halves of the held-out rows choose for each other when to stop.
    """
    # Columns: all that a network reads lies side by side.
    u, w = (torch.tensor(a.T, dtype=torch.float32) for a in (normal[:, :-1], white[:, 1:]))
    fit, test = ((u[:, rows], w[:, rows]) for rows in (torch.from_numpy(train), torch.from_numpy(held_out)))
    model = Conditionals(normal.shape[1], seed)
    count = len(train)
    batch = max(LEAST, math.ceil(count / BATCHES))
    steps = EPOCHS * math.ceil(count / batch)
    random = torch.Generator().manual_seed(seed)
    penalty = 1 / math.sqrt(count)
    found: list[Tensor] = []
    best, fitted, last, step = -math.inf, 0.0, 0, 0
    for epoch in range(EPOCHS):
        order = torch.randperm(count, generator=random)
        sums: list[Tensor] = []
        for some_u, some_w in _batches(fit[0][:, order], fit[1][:, order], batch):
            sums.append(model.step(some_u, some_w, penalty, RATE * min(1.0, 2 * (1 - step / steps))))
            step += 1
        found.append(torch.cat([model.forward(some_u, some_w) for some_u, some_w in _batches(*test, READ)]))
        if (now := float(found[-1].mean())) > best:
            best, fitted, last = now, float(torch.stack(sums).sum()) / count, epoch
        elif epoch - last >= PATIENCE:
            break
    rows = torch.stack(found)  # (epochs, held out)
    first, second = rows.tensor_split(2, dim=1)
    chosen = torch.cat([first[second.mean(1).argmax()], second[first.mean(1).argmax()]])
    return chosen.double().numpy(), fitted


def _batches(u: Tensor, w: Tensor, size: int) -> Iterable[tuple[Tensor, Tensor]]:
    return zip(u.split(size, 1), w.split(size, 1), strict=True)
