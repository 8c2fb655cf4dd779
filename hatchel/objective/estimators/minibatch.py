"""Minibatch estimates of log q(z): the same sum over the batch under four sets of weights.

log q(z_i) ~ log sum_j w_ij q(z_i|x_j), where j runs over the batch of ALL ranks, N is the size of the data, M = B - 1.
Because one draw z_i came from its own x_i, the weight of j = i differs from the others'. All four underestimate TC when
the posteriors hardly overlap: the sum is then its own term, and E log q(z) is off by up to log of the weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from hatchel.core.cached import remembered
from hatchel.core.distributed import rank
from hatchel.core.errors import HatchelError
from hatchel.core.spec import added
from hatchel.latents.layout import Partition
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.mixture import log_mixture
from hatchel.objective.trace import Trace


class Minibatch(Density, ABC):
    """A weighted sum over the batch."""

    @abstractmethod
    def weights(self, rows: Tensor, columns: Tensor, batch: int, n_data: int) -> Tensor:
        """w_ij for rows i (R, 1) and columns j (1, C) of the whole batch: (R, C)."""

    def log_q(self, t: Trace, blocks: Partition) -> Tensor:
        q = t.q.gathered()
        batch, own = q.mean.shape[0], t.z.shape[0]
        if batch < 2:
            raise HatchelError(f"the {self.kind} estimator needs a batch of at least 2: set batch_size=64")
        if t.batch.n_data < batch:
            raise HatchelError(
                f"the {self.kind} estimator needs batch_size ({batch}) <= size of the data ({t.batch.n_data})"
            )
        first = rank() * own

        def log_weights(top: int, bottom: int, left: int, right: int) -> Tensor:
            tile = (first + top, first + bottom), (left, right)
            return _log_weights(self, *tile, batch, t.batch.n_data, t.z.dtype, t.z.device)

        return log_mixture(q, t.z, blocks, log_weights)


@remembered(1)  # a batch in one tile asks for the same at each step
@torch.inference_mode(mode=False)
def _log_weights(
    by: Minibatch,
    rows: tuple[int, int],
    columns: tuple[int, int],
    batch: int,
    n_data: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    i, j = (torch.arange(*span, device=device) for span in (rows, columns))
    return by.weights(i[:, None], j[None, :], batch, n_data).to(dtype).log()


class MWS(Minibatch):
    """Minibatch weighted sampling (Chen et al. 2018, Eq. S5): w = 1 / (N B). Biased: log q(z) is low by up to log N.

    TC = E[log q(z) - sum_d log q(z_d)] is then high by (D - 1) log N over the batch's own mixture, whose weights are
    1 / B. Without the constants, as some code has it, it is lower by (D - 1) log(N B), with the same gradient.
    """

    constants: bool = added(default=True)
    """Whether log(N B) is subtracted."""

    def weights(self, rows: Tensor, columns: Tensor, batch: int, n_data: int) -> Tensor:
        weight = 1.0 / (n_data * batch) if self.constants else 1.0
        return torch.full((1, 1), weight, dtype=torch.float64, device=rows.device)


class MSS(Minibatch):
    """Minibatch stratified sampling with the weights in their right places (Cheng et al. 2020's MSS_1).

    w_ij = 1/N where j = i, (N - M)/(N M) where j = i + 1 (mod B), 1/M elsewhere. The weights of a row sum to
    1/M + (B - 2)/M = 1.
    """

    def weights(self, rows: Tensor, columns: Tensor, batch: int, n_data: int) -> Tensor:
        m = batch - 1
        offset = (columns - rows) % batch
        w = torch.full(offset.shape, 1.0 / m, dtype=torch.float64, device=rows.device)
        w[offset == 1] = (n_data - m) / (n_data * m)
        w[offset == 0] = 1.0 / n_data
        return w


class MSS0(Minibatch, kind="mss0"):
    """MSS as the original beta-TCVAE code lays its weights out (Cheng et al. 2020's MSS_0); kept only to compare with.

    Its flat stride is B where B + 1 was meant: column 0 gets 1/N, column 1 gets (N - M)/(N M), entry [M - 1, 0]
    gets (N - M)/(N M), the rest 1/M.
    """

    def weights(self, rows: Tensor, columns: Tensor, batch: int, n_data: int) -> Tensor:
        m = batch - 1
        stratum = (n_data - m) / (n_data * m)
        w = torch.full((rows.shape[0], columns.shape[1]), 1.0 / m, dtype=torch.float64, device=rows.device)
        w[:, columns[0] == 1] = stratum
        w[:, columns[0] == 0] = 1.0 / n_data
        w[(rows == m - 1) & (columns == 0)] = stratum
        return w


class Stratified(Minibatch):
    """HFVAE's partially stratified estimate (Esmaeili et al. 2019, Eq. 13).

    q(z_b) ~ q(z_b|x_b)/N + (N - 1)/(N (B - 1)) sum_{b' != b} q(z_b|x_b').
    """

    def weights(self, rows: Tensor, columns: Tensor, batch: int, n_data: int) -> Tensor:
        own = (rows == columns).to(torch.float64)
        return own / n_data + (1 - own) * (n_data - 1) / (n_data * (batch - 1))
