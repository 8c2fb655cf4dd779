"""Removed: the lower bound of a few points in the plane with one of its four terms taken away."""

from __future__ import annotations

import math
from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor

from hatchel.core.spec import Count, Positive
from hatchel.core.streams import generator
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.likelihoods import Gaussian
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.terms.decomposition import AggregateKL, MutualInformation
from hatchel.objective.trace import Batch, Trace
from hatchel.study.task import Result, Task, Workspace
from hatchel.training.model import Model

BY = Stratified()
"""Exact where the batch holds every point equally often."""


class Removed(Task):
    """log p(x|z)/p(x) (1) - log q(z|x)/q(z) (2) - KL(q(x)||p(x)) (3) - KL(q(z)||p(z)) (4), without one of the four.

    Esmaeili et al. 2019, Fig. 2. The points lie on a circle, z has two coordinates, and log p(x) is the mean of p(x|z)
    over draws of the prior; 1 and 3 together are the reconstruction. Measured: each of the terms, and how wide a
    posterior is.
    """

    removed: Annotated[int, Ge(0), Le(4)] = 0
    """The term; 0: none."""
    points: Count = 16
    """N, on a circle of radius 1."""
    sigma: Positive = 0.3
    """Standard deviation of p(x|z)."""
    copies: Count = 8
    """Draws of z for each point at a step."""
    prior_draws: Count = 256
    """Draws of the prior that log p(x) is a mean over; sixteen times as many where it is measured."""
    steps: Count = 2_000
    """Of Adam."""
    lr: Positive = 1e-3
    """Its step size."""

    def compute(self, workspace: Workspace) -> Result:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            nets = Mlp(hidden=(64, 64)), Diagonal(2), MlpDecoder(hidden=(64, 64)), Gaussian(self.sigma)
            model = Model(*nets, (2,))
        optimizer = torch.optim.Adam(model.parameters(), self.lr)
        for step in range(self.steps):
            optimizer.zero_grad()
            self._loss(model, step).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
        with torch.no_grad():
            return self._measured(model)

    def _loss(self, model: Model, step: int) -> Tensor:
        t = self._trace(model, self.copies, step)
        information, aggregate = _regularisers(t)
        result = -t.log_px.mean()
        if self.removed in (1, 3):
            evidence = self._log_evidence(model, t.batch, self.prior_draws).mean()
            result = -evidence if self.removed == 1 else result + evidence
        return result + (self.removed != 2) * information + (self.removed != 4) * aggregate

    def _measured(self, model: Model) -> Result:
        t = self._trace(model, 512, self.steps)
        information, aggregate = _regularisers(t)
        values = {
            "information": float(information),
            "aggregate_kl": float(aggregate),
            "log_evidence": float(self._log_evidence(model, t.batch, 16 * self.prior_draws).mean()),
            "reconstruction": -float(t.log_px.mean()),
            "width": float(t.q.variance.log().mean().mul(0.5).exp()),
        }
        q = t.q.map_tensors(lambda whole: whole[: self.points])
        return Result(values, {"mean": q.mean.tolist(), "std": q.variance.sqrt().tolist()})

    def _trace(self, model: Model, copies: int, step: int) -> Trace:
        angles = torch.arange(self.points) * (2 * math.pi / self.points)
        x = torch.stack([angles.cos(), angles.sin()], 1).repeat(copies, 1)
        return model(Batch(x, len(x), step, self.seed))

    def _log_evidence(self, model: Model, batch: Batch, draws: int) -> Tensor:
        """log p(x) of each point: (N,)."""
        x = batch.x[: self.points]  # then they repeat
        z = model.latent.prior_at().sample(draws, generator(self.seed, "evidence", batch.step))
        outputs = model.decoder(z).repeat(len(x), 1)
        pairs = model.likelihood.log_prob(outputs, x.repeat_interleave(draws, 0)).unflatten(0, (len(x), draws))
        return pairs.logsumexp(1) - math.log(draws)


def _regularisers(t: Trace) -> tuple[Tensor, Tensor]:
    """I(x;z) and KL(q(z)||p(z)), means over the batch."""
    evaluator = Evaluator(t, {}, {})
    return MutualInformation(BY).value(t, evaluator).mean(), AggregateKL(BY).value(t, evaluator).mean()
