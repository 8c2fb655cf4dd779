"""Total correlation of any codes: a Gaussian copula, and what a learned density sees beyond it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor, nn

from hatchel.metrics.inputs import Float
from hatchel.metrics.solvers.boosting import single_threaded

ROWS = 10_000
"""Rows that are read; of more, so many are drawn."""
HIDDEN, COMPONENTS = 32, 8
RATE, BATCHES, EPOCHS, PATIENCE = 6e-3, 26, 50, 10
LEAST = 64
"""Rows of a batch, of which there are then fewer."""
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
        codes = codes[rng.choice(len(codes), ROWS, replace=False)]
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
    with single_threaded():
        found, fitted = _residual(normal, white, train, held_out, seed)
        half, _ = _residual(normal, white, train[: len(train) // 2], held_out, seed)
    residual = float(found.mean())
    gained = max(residual, 0.0) - max(float(half.mean()), 0.0)
    bias = max(0.0, fitted - residual, gained / (math.sqrt(2) - 1))  # as if what is missed fell with 1 / sqrt(rows)
    bias += MISSED * max(residual, 0.0)
    error = math.sqrt(influence.var() / n + found.var() / len(found))
    return Density(copula, max(0.0, residual), error, bias)


def gaussianised(codes: Float, rng: np.random.Generator) -> Float:
    """(n, D): every dimension's normal scores; equal codes in random order."""
    n = len(codes)
    scores = ndtri((np.arange(n) + 0.5) / n)
    result = np.empty(codes.shape)
    for d, column in enumerate(codes.T):
        result[np.lexsort((rng.random(n), column)), d] = scores
    return result


class Conditionals(nn.Module):
    """log p(w_d | u_1 .. u_d-1) - log N(w_d; 0, 1) summed over d: for each d > 1, a network that gives a mixture."""

    def __init__(self, dims: int, seed: int) -> None:
        super().__init__()
        nets = dims - 1
        random = torch.Generator().manual_seed(seed)

        def weights(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(scale * torch.randn(nets, *shape, generator=random))

        self.past = torch.tril(torch.ones(nets, dims - 1))[:, None, :]  # (nets, 1, inputs)
        self.first = weights(dims - 1, HIDDEN, scale=math.sqrt(2 / dims))
        self.first_bias = weights(1, HIDDEN, scale=1.0)
        self.second = weights(HIDDEN, HIDDEN, scale=math.sqrt(2 / HIDDEN))
        self.second_bias = weights(1, HIDDEN, scale=0.1)
        self.last = weights(HIDDEN, 3 * COMPONENTS, scale=0.01 / math.sqrt(HIDDEN))
        means = torch.linspace(-1, 1, COMPONENTS)
        scale = 0.5 * torch.log(1 - means.var(correction=0)).expand(COMPONENTS)
        start = torch.cat([torch.zeros(COMPONENTS), means, scale])  # close to N(0, 1)
        self.last_bias = nn.Parameter(start.expand(nets, 1, -1).clone())

    def forward(self, normal: Tensor, white: Tensor) -> Tensor:
        """(B,) of rows u and w (B, D)."""
        hidden = torch.relu((normal[:, :-1] * self.past) @ self.first + self.first_bias)  # (nets, B, HIDDEN)
        hidden = torch.relu(hidden @ self.second + self.second_bias)
        share, mean, scale = (hidden @ self.last + self.last_bias).split(COMPONENTS, -1)
        scale = scale.clamp(-7, 3)
        target = white.T[1:, :, None]  # (nets, B, 1)
        density = share.log_softmax(-1) - 0.5 * ((target - mean) * torch.exp(-scale)) ** 2 - scale
        return (density.logsumexp(-1) + 0.5 * target[..., 0] ** 2).sum(0)

    def spread(self) -> Tensor:
        """Sum over inputs of the norm of their weights: what is not needed goes out as a whole (group lasso)."""
        return (self.first.square().sum(-1) + 1e-8).sqrt().sum()


def _residual(
    normal: Float, white: Float, train: NDArray[np.int64], held_out: NDArray[np.int64], seed: int
) -> tuple[Float, float]:
    """The held-out rows' log p(w) - log N(w; 0, I), and the mean of the training rows' at the same time.

    The two halves of the held-out rows choose for each other when to stop.
    """
    u, w = (torch.tensor(a, dtype=torch.float32) for a in (normal, white))
    fit_u, fit_w, test_u, test_w = u[train], w[train], u[held_out], w[held_out]
    model = Conditionals(u.shape[1], seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    batch = max(LEAST, math.ceil(len(train) / BATCHES))
    steps = EPOCHS * math.ceil(len(train) / batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, 2 * (1 - step / steps)))
    random = torch.Generator().manual_seed(seed)
    penalty = 1 / math.sqrt(len(train))
    found: list[Tensor] = []
    best, fitted, last = -math.inf, 0.0, 0
    for epoch in range(EPOCHS):
        total = 0.0
        for rows in torch.randperm(len(train), generator=random).split(batch):
            likelihood = model(fit_u[rows], fit_w[rows]).mean()
            optimiser.zero_grad()
            (penalty * model.spread() - likelihood).backward()
            optimiser.step()
            schedule.step()
            total += float(likelihood.detach()) * len(rows)
        with torch.no_grad():
            found.append(model(test_u, test_w))
        if (now := float(found[-1].mean())) > best:
            best, fitted, last = now, total / len(train), epoch
        elif epoch - last >= PATIENCE:
            break
    rows = torch.stack(found)  # (epochs, held out)
    first, second = rows.tensor_split(2, dim=1)
    chosen = torch.cat([first[second.mean(1).argmax()], second[first.mean(1).argmax()]])
    return chosen.double().numpy(), fitted
