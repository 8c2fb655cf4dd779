"""What a critic is shown: the joint as it is, and every part of it permuted by itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hatchel.latents.layout import Partition
from hatchel.latents.mixed import Mixed
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import CriticModule
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.trace import Trace
from tests.conftest import trace_of

ROWS = 32


class Watcher(CriticModule):
    """Remembers what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        self.seen = joint, product
        return self.weight * joint.sum(1)

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        self.taught = joint, product
        return self.weight * product.sum(1)


def trace() -> Trace:
    """Sites: a class of 4 columns, then three coordinates; every number of the code says which row it is from."""
    latent = Mixed({"class": Concrete(4), "style": Gaussian(3)})
    module = latent.build()
    q = module.posterior(torch.zeros(ROWS, 4 + 6))
    z = torch.arange(ROWS)[:, None] + torch.arange(7) / 10
    return trace_of(q, z.requires_grad_(), module.prior_at())


@pytest.mark.parametrize("parts", [((0,), (1,), (2,), (3,)), ((0,), (1, 2, 3)), ((3, 1), (2,), (0,)), ((2,), (1,))])
def test_blocks_stay_whole_and_are_permuted_apart(parts: Partition) -> None:
    by, critic, t = DensityRatio(), Watcher(), trace()
    evaluator = Evaluator(t, {}, {(by, parts): critic})
    evaluator.log_ratio(by, parts).sum().backward()
    joint, product = critic.seen
    columns = [[0, 1, 2, 3] if s == 0 else [3 + s] for block in parts for s in block]
    torch.testing.assert_close(joint, t.z[:, [c for site in columns for c in site]])
    rows = product.floor()
    torch.testing.assert_close(product - rows, joint - joint.floor())  # every number in its own column
    orders, left = [], 0
    for block in parts:
        width = sum(4 if s == 0 else 1 for s in block)
        order = rows[:, left]
        assert (rows[:, left : left + width] == order[:, None]).all()
        assert sorted(order.tolist()) == list(range(ROWS))
        orders.append(order)
        left += width
    assert all((a != b).sum() > ROWS // 2 for i, a in enumerate(orders) for b in orders[:i])


def test_the_lesson_is_on_the_samples_that_were_read_and_reaches_no_code() -> None:
    by, critic, t = DensityRatio(), Watcher(), trace()
    parts = t.q.layout.singles
    evaluator = Evaluator(t, {}, {(by, parts): critic})
    evaluator.log_ratio(by, parts)
    (loss,) = evaluator.critic_losses().values()
    loss.sum().backward()
    assert critic.weight.grad is not None
    assert t.z.grad is None
    for seen, taught in zip(critic.seen, critic.taught, strict=True):
        torch.testing.assert_close(seen.detach(), taught)
    assert evaluator.critic_losses({(by, parts)}) == {}
