"""Exact: the full sum over a given set of posteriors, for evaluation and for batches that are the whole data."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hatchel.estimators.estimator import Density
from hatchel.estimators.mixture import log_mixture
from hatchel.trace import Partition, Posterior, Trace


class Exact(Density):
    """q(z) = 1/N sum_j q(z|x_j) over the posteriors of the batch: exact when the batch is the data (B = N).

    With fewer posteriors the own one has too large a share: log q(z) is then at least log(1/B) + log q(z|x).
    """

    def log_q(self, t: Trace, blocks: Partition) -> Tensor:
        """Equal weights over all ranks' posteriors."""
        return exact_log_q(t.q.gathered(), t.z, blocks)


def exact_log_q(q: Posterior, z: Tensor, blocks: Partition) -> Tensor:
    """log 1/N sum_j q(z_i,block | x_j) for codes z (R, D) under N posteriors, in tiles: (len(blocks), R)."""
    log_weight = torch.full((1, 1), -math.log(q.mean.shape[0]), dtype=z.dtype, device=z.device)
    return log_mixture(q, z, blocks, lambda *_: log_weight)
