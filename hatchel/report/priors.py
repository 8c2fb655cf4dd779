"""Priors: codes drawn from p(z), whole or one group at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hatchel.core.streams import generator
from hatchel.latents import concrete
from hatchel.latents.mixed import Mixed
from hatchel.latents.prior import Prior
from hatchel.report.sites import Site
from hatchel.training.run import TrainedRun

CODES = NDArray[np.float32]


def prior_codes(run: TrainedRun, variables: Sequence[Site], count: int, seed: int = 0) -> CODES:
    """(count, D): z ~ p(z), standard normal or as the run has learned it; classes relaxed, as they were in training."""
    random = generator(seed, "prior")
    real = [s.columns[0] for s in variables if not s.discrete]
    discrete = [s.columns for s in variables if s.discrete]
    codes = torch.zeros(count, run.spec.latent.width)
    codes[:, real] = torch.randn(count, len(real), generator=random)
    latent, prior = run.spec.latent, getattr(run.model.latent, "prior", None)
    if isinstance(latent, Mixed) and isinstance(prior, Prior):
        if prior.learned:
            codes[:, real] = _coloured(codes[:, real], prior)
        for number, columns in enumerate(discrete):
            times = torch.empty(count, len(columns)).exponential_(generator=random)
            logits = prior.class_logits(number, times).detach().cpu()
            codes[:, list(columns)] = concrete.draw(logits, latent.temperature.at(run.steps), times)
    return codes.numpy()


def group_codes(codes: CODES, start: NDArray[np.floating], variables: Sequence[Site], group: str) -> CODES:
    """(n, D): the sites of one group as in `codes`, all others as in `start`."""
    result = np.tile(np.asarray(start, dtype=np.float32), (len(codes), 1))
    columns = [c for s in variables if s.group == group for c in s.columns]
    result[:, columns] = codes[:, columns]
    return result


def _coloured(noise: Tensor, prior: Prior) -> Tensor:
    """Noise (n, G) of unit covariance with that of the prior: z = L eps within each block."""
    result = noise.clone()
    with torch.no_grad():
        for block, covariance in zip(prior.blocks, prior.covariances, strict=True):
            factor = torch.linalg.cholesky(covariance).cpu()
            result[:, list(block)] = noise[:, list(block)] @ factor.T
    return result
