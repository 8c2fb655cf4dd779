import math

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.router import AttentionRouter, FixedRouter, LinearRouter, PrintedRouter, Router

SHAPE = (8, 3, 3)


def features(members: int = 4) -> torch.Tensor:
    return torch.randn(5, members, *SHAPE, generator=torch.Generator().manual_seed(0)).relu()


@pytest.mark.parametrize("kind", [Router, PrintedRouter])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_columns_sum_to_one_with_exactly_k_entries(kind: type[Router], k: int, scaled: bool) -> None:
    torch.manual_seed(0)
    w = kind(SHAPE, 4, 6, k, scaled).weights(features().flatten(2))
    assert w.shape == (5, 4, 6)
    torch.testing.assert_close(w.sum(1), torch.ones(5, 6))
    assert ((w > 0).sum(1) == min(k, 4)).all()


@pytest.mark.parametrize("kind", [Router, PrintedRouter])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_equation_entry_by_entry(kind: type[Router], scaled: bool) -> None:
    torch.manual_seed(1)
    router = kind(SHAPE, 4, 6, 2, scaled)
    m = features()
    routed = router(m)
    for b in range(5):
        rows = m[b].flatten(1)
        a = torch.softmax(rows @ rows.T / (math.sqrt(72) if scaled else 1), 1)
        r = a @ torch.relu(router.linear(rows)) if kind is PrintedRouter else torch.relu(a @ router.linear.weight.T)
        for j in range(6):
            kept = torch.full((4,), -math.inf)
            best = r[:, j].topk(2).indices
            kept[best] = r[best, j]
            expected = (kept.softmax(0)[:, None] * rows).sum(0)
            torch.testing.assert_close(routed[b, j].flatten(), expected)


def test_a_shut_router_still_routes() -> None:
    router = Router(SHAPE, 4, 6, 2, True)
    torch.nn.init.constant_(router.linear.weight, -1.0)
    w = router.weights(features().flatten(2))
    assert ((w == 0.5).sum(1) == 2).all()


def test_linear() -> None:
    router = LinearRouter(SHAPE, 6)
    m = features()
    w = router.linear(m.flatten(2)).softmax(1)
    torch.testing.assert_close(router(m)[2, 3], (w[2, :, 3, None, None, None] * m[2]).sum(0))


def test_fixed_hands_every_channel_to_one_encoder() -> None:
    m = features()
    routed = FixedRouter(SHAPE, 4, 16)(m)
    assert routed.shape == (5, 16, 2, 3, 3)
    assert torch.equal(routed.flatten(1, 2), m.flatten(1, 2))
    with pytest.raises(HatchelError, match=r"cuts 32 channels into equal slices.*Set latent.dim=8"):
        FixedRouter(SHAPE, 4, 10)


def test_attention_mixes_with_weights_that_sum_to_one() -> None:
    torch.manual_seed(2)
    router = AttentionRouter(SHAPE, 6)
    same = features(1).expand(-1, 4, -1, -1, -1)  # whatever the weights, a mixture of equals is that
    values = router.out(router.values(same[:, 0].permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
    torch.testing.assert_close(router(same), values[:, None].expand(-1, 6, -1, -1, -1))
    m = features()
    assert not torch.allclose(router(m)[:, 0], router(m)[:, 1])
    with pytest.raises(HatchelError, match="8 heads"):
        AttentionRouter((12, 3, 3), 6)
