"""Gaussian: log q(z) as if the aggregate posterior were one normal distribution."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hatchel.core.distributed import gather
from hatchel.core.errors import HatchelError
from hatchel.latents.layout import NEEDS_REAL, Block, Layout, Partition
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.trace import Trace


class Gaussian(Density):
    """log N(z; m, S) with the moments of the batch.

    The mean over the batch of log q(z) - sum_d log q(z_d) is exactly 1/2 (log |diag S| - log |S|)
    (Cheng et al. 2020, Eq. 5): the total correlation of a Gaussian, a lower bound for other densities with this copula.
    """

    def accepts(self, layout: Layout) -> str:
        # A class is not normal, and the numbers of a class sum to 1: their covariance is singular.
        return "" if layout.continuous else f"a normal density {NEEDS_REAL}; or use by=mss"

    def log_q(self, t: Trace, blocks: Partition) -> Tensor:
        z = gather(t.z)
        largest = max(map(len, blocks))
        if z.shape[0] <= largest:
            raise HatchelError(
                f"by=gaussian: {z.shape[0]} items a batch are too few for the covariance of {largest} coordinates; "
                f"set batch_size={2 * largest} or more"
            )
        centre = z.mean(0)
        covariance = (z - centre).T @ (z - centre) / z.shape[0]
        return torch.stack([self._log_density(t.z - centre, covariance, block) for block in blocks])

    def _log_density(self, deviation: Tensor, covariance: Tensor, block: Block) -> Tensor:
        index = list(block)
        factor = torch.linalg.cholesky(covariance[index][:, index])
        scaled = torch.linalg.solve_triangular(factor, deviation[:, index].T, upper=False)
        log_determinant = 2 * factor.diagonal().log().sum()
        return -0.5 * (scaled.square().sum(0) + log_determinant + len(index) * math.log(2 * math.pi))
