"""MINE: mutual information by the Donsker-Varadhan bound (Belghazi et al. 2018)."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from hatchel.distributed import gather, mean, world
from hatchel.estimators.estimator import Critic, CriticModule
from hatchel.spec import Count, Share


class MINE(Critic):
    """KL(joint || product) >= E_joint[T] - log E_product[exp T], with T a perceptron that ascends the bound.

    The gradient of the log is biased on a batch; the critic's own loss divides by a moving average of E exp T instead
    (Belghazi et al., section 3.2). The model descends the bound itself.
    """

    hidden: Count = 128
    """Units of each hidden layer."""
    layers: Count = 4
    """Linear layers in all."""
    average: Share = 0.99
    """Decay of the moving average."""

    differentiates_product = True

    def build(self, width: int) -> CriticModule:
        """The statistics network T."""
        sizes = [width] + [self.hidden] * (self.layers - 1)
        hidden = [m for i, o in pairwise(sizes) for m in (nn.Linear(i, o), nn.ReLU())]
        return _Statistics(nn.Sequential(*hidden, nn.Linear(sizes[-1], 1)), self.average)


class _Statistics(CriticModule):
    log_average: Tensor

    def __init__(self, net: nn.Module, decay: float) -> None:
        super().__init__()
        self.net = net
        self.decay = decay
        # In logs, because exp T overflows; NaN marks "no step yet".
        self.register_buffer("log_average", torch.tensor(math.nan))

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        return mean(self.net(joint).squeeze(1)) - self._log_mean_exp(self.net(product).squeeze(1))

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        scores = self.net(product).squeeze(1)
        with torch.no_grad():
            now = self._log_mean_exp(scores)
            moved = torch.logaddexp(self.log_average + math.log(self.decay), now + math.log1p(-self.decay))
            self.log_average.copy_(torch.where(self.log_average.isnan(), now, moved))
        # Its gradient is E[exp(T) dT] / average.
        return -mean(self.net(joint).squeeze(1)) + mean((scores - self.log_average).exp())

    def _log_mean_exp(self, scores: Tensor) -> Tensor:
        return torch.logsumexp(gather(scores), 0) - math.log(scores.shape[0] * world())
