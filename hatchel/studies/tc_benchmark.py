"""TCBenchmark: an estimator of total correlation on Gaussian codes whose total correlation is known."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from hatchel.core.memory import keep_memory
from hatchel.core.spec import Count, NonNegative, Positive, Share, added
from hatchel.core.streams import generator
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.latents.layout import plain_layout
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Critic, CriticModule, Estimator
from hatchel.objective.evaluator import CriticKey, Evaluator
from hatchel.objective.terms.decomposition import TotalCorrelation
from hatchel.objective.trace import Batch, Trace
from hatchel.study.task import Result, Task, Workspace


class TCBenchmark(Task, kind="estimated"):
    """mu ~ N(0, S), z = mu + sigma eps; TC(z) by the estimator, and 1/2 (log |diag C| - log |C|), C = S + sigma^2 I.

    S has unit diagonal: blocks of `block` coordinates with one correlation rho inside (RTC-VAE, Sec. 5: one block
    of all D; DeVAE 2023, Table 1: pairs), and the last `dead` coordinates shut down to variance `floor` (RTC-VAE 2020,
    App. 1.3.2). A discriminator is first trained on fresh batches. The kind is the name that published records have.
    """

    by: Estimator = DensityRatio()
    """What estimates it."""
    dim: Count = 10
    """D."""
    rho: Share = 0.0
    """Correlation inside a block."""
    block: Count = 2
    """Coordinates in a block."""
    sigma: NonNegative = 0.1
    """Noise around the mean."""
    dead: int = 0
    """Coordinates whose mean hardly varies."""
    floor: Positive = 1e-4
    """The variance of their mean."""
    batch: Count = 256
    """M, codes at a time."""
    n_data: Count = 50_000
    """N, of which a batch is a sample."""
    steps: int = 2000
    """Of training, for a discriminator."""
    lr: Positive = 1e-4
    """Its step size."""
    repeats: Count = 10
    """Batches the estimate is averaged over."""
    betas: tuple[float, float] = added(default=(0.5, 0.9))
    """Of the discriminator's Adam."""

    def compute(self, workspace: Workspace) -> Result:
        truth = 0.5 * float(self.covariance.diagonal().log().sum() - torch.logdet(self.covariance))
        term = TotalCorrelation(self.by)
        critics = self._trained(self.by, term) if isinstance(self.by, Critic) else {}
        traces = [self._batch(-1 - k) for k in range(self.repeats)]
        # All blocks named beforehand, one pass gives them all.
        found = [term.value(t, Evaluator(t, {self.by: term.blocks(t.q.layout)}, critics)).mean() for t in traces]
        values = torch.stack([f.detach().double() for f in found])
        return Result({"tc": float(values.mean()), "truth": truth, "error": float(values.mean()) - truth})

    @property
    def means(self) -> Tensor:
        """S: (D, D)."""
        s = torch.eye(self.dim, dtype=torch.float64)
        for start in range(0, self.dim - self.block + 1, self.block):
            s[start : start + self.block, start : start + self.block] += self.rho
            s[start : start + self.block, start : start + self.block].fill_diagonal_(1.0)
        live = torch.ones(self.dim, dtype=torch.float64)
        live[self.dim - self.dead :] = math.sqrt(self.floor)
        return s * live * live[:, None]

    @property
    def covariance(self) -> Tensor:
        """C = S + sigma^2 I: (D, D)."""
        return self.means + self.sigma**2 * torch.eye(self.dim, dtype=torch.float64)

    def _batch(self, step: int) -> Trace:
        g = generator(self.seed, "estimated", abs(step) + (step < 0) * 10**6)
        mean = torch.randn(self.batch, self.dim, generator=g) @ _root(self).T
        z = mean + self.sigma * torch.randn(self.batch, self.dim, generator=g)
        # A discriminator reads the codes alone; with no noise the densities would be points.
        q = DiagonalGaussian(mean, torch.full_like(mean, 2 * math.log(max(self.sigma, 1e-3))))
        batch = Batch(torch.zeros(self.batch, 1), self.n_data, max(step, 0))
        return Trace(batch, torch.zeros(self.batch), q, StandardNormal(q.layout), z)

    def _trained(self, by: Critic, term: TotalCorrelation) -> dict[CriticKey, CriticModule]:
        keep_memory()
        (partition,) = term.partitions(plain_layout(self.dim))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            critics: dict[CriticKey, CriticModule] = {(by, partition): by.build(self.dim)}
        optimizer = torch.optim.Adam(critics[by, partition].parameters(), lr=self.lr, betas=self.betas, fused=True)
        for step in range(self.steps):
            optimizer.zero_grad(set_to_none=True)
            Evaluator(self._batch(step), {}, critics).critic_loss(by, partition).mean().backward()
            optimizer.step()
        return critics


@functools.lru_cache(maxsize=1)
def _root(task: TCBenchmark) -> Tensor:
    """R with R R' = S: (D, D); once for all batches of a task."""
    return torch.linalg.cholesky(task.means + 1e-9 * torch.eye(task.dim)).float()


def correlation_of(determinant: float, dim: int) -> float:
    """rho such that one block of `dim` coordinates has this determinant: (1 - rho)^(D-1) (1 + (D-1) rho) = det.

    >>> round(correlation_of(0.75, 2), 6)
    0.5
    """
    from scipy.optimize import brentq

    return float(brentq(lambda r: (1 - r) ** (dim - 1) * (1 + (dim - 1) * r) - determinant, 0.0, 1.0))  # pyright: ignore[reportArgumentType]
