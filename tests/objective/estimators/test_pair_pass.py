"""One pass for MINE's reading and its lesson: the values, gradients and averages of the two passes it stands for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hatchel.core.errors import HatchelError
from hatchel.objective.estimators.estimator import Layers, Pairs
from hatchel.objective.estimators.mine import MINE, PairStatistics
from hatchel.objective.estimators.pair_pass import pays, pieces

LAYERS: Layers = ((4, 3), (5, 2))
BATCH = 24


def critic(depth: int, shared: bool, share: float = 1.0) -> PairStatistics:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        built = (
            MINE(hidden=16, layers=depth, share=share)
            .build_pairs(LAYERS, Pairs("m2", "z").index(4, 5), shared)
            .double()
        )
    assert isinstance(built, PairStatistics)
    return built


def samples(step: int) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(step)
    joint, product = torch.randn(2, BATCH, 22, generator=g, dtype=torch.float64).unbind()
    return joint.requires_grad_(), product.requires_grad_()


def gradients(module: PairStatistics, rows: tuple[Tensor, Tensor], total: Tensor) -> list[Tensor | None]:
    return list(torch.autograd.grad(total, [*rows, *module.parameters()], allow_unused=True, retain_graph=True))


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "specific"])
@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("moved", [0.0, 3.0, -3.0, 60.0], ids=["first", "above", "below", "far"])
def test_it_equals_two_passes(depth: int, shared: bool, moved: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The average is new, near, or so far above that the lesson's slopes are lost in float32 (not in the bound's)."""
    monkeypatch.setattr("hatchel.objective.estimators.pair_pass.ROWS", 4 * 2 * BATCH)  # the last piece is smaller
    one, two = critic(depth, shared), critic(depth, shared)
    rows = samples(1)
    if moved:
        for module in (one, two):
            module.loss(*samples(0))
            module.log_average += moved
    both = one.both(*rows)
    assert both is not None
    bound, loss = both
    expected, lesson = two(*rows), two.loss(*(r.detach() for r in rows))
    torch.testing.assert_close((bound, loss), (expected, lesson), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(one.log_average, two.log_average, rtol=1e-12, atol=1e-12)
    read, taught = gradients(one, rows, 3 * bound), gradients(one, rows, 2 * loss)
    to_samples, to_weights = gradients(two, rows, 3 * expected)[:2], gradients(two, rows, 2 * lesson)[2:]
    for found, right in zip((*read[:2], *taught[2:]), (*to_samples, *to_weights), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-12)
    assert all(g is None or not g.any() for g in (*taught[:2], *read[2:]))  # nothing crosses


def test_a_share_of_the_pairs_is_their_sum_scaled_up() -> None:
    """On any draw the chosen pairs' own bounds, losses and averages; no pair is drawn more often than another."""
    whole, one, two = critic(4, True), critic(4, True, 0.5), critic(4, True, 0.5)
    rows, count, counts = samples(1), len(whole.net.index), torch.zeros(len(whole.net.index))
    whole.loss(*(r.detach() for r in rows))
    for step in range(400):
        one.begin(7, step)
        assert one.net.chosen is not None
        counts[one.net.chosen] += 1
    chosen, scale = one.net.chosen, count / (count // 2)
    assert chosen is not None
    both = one.both(*rows)
    assert both is not None
    two.begin(7, 399)
    expected, lesson = two(*rows), two.loss(*(r.detach() for r in rows))
    torch.testing.assert_close(both, (expected, lesson), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(both[0], scale * whole.bounds(*rows)[chosen].sum(), rtol=1e-9, atol=1e-12)
    left_out = torch.ones(count, dtype=torch.bool).index_fill(0, chosen, False)
    for module in (one, two):
        torch.testing.assert_close(module.log_average[chosen], whole.log_average[chosen], rtol=1e-12, atol=1e-12)
        assert module.log_average[left_out].isnan().all()
    for found, right in zip(gradients(one, rows, both[1])[2:], gradients(two, rows, lesson)[2:], strict=True):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-12)
    assert (counts / 400 - (count // 2) / count).abs().max() < 4 * 0.5 / 400**0.5  # four standard errors
    with pytest.raises(HatchelError, match="nets=shared"):
        critic(4, False, 0.5)


def test_pieces_are_all_pairs_in_order() -> None:
    index = [(i, j) for i, j in Pairs("m2", "z").index(6, 9).tolist()]
    found = pieces(index, 7)
    assert [(i, j + k) for runs in found for i, j, count in runs for k in range(count)] == index
    assert [sum(count for *_, count in runs) for runs in found] == [7] * 6 + [6]


def test_it_is_left_out_where_it_would_be_wrong() -> None:
    joint, product = samples(0)
    assert pays(joint)
    assert not pays(joint.detach())
    assert not pays(joint.to("meta"))
    with torch.no_grad():
        assert critic(4, True).both(joint, product) is None
    with torch.autocast("cpu", torch.bfloat16):
        assert critic(4, True).both(joint, product) is None
