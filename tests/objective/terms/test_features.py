"""Pairs of layers: MINE recovers what Gaussians say about each other, each pair once, and no gradient crosses."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from hatchel.core.distributed import mean
from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.latents.layout import plain_layout
from hatchel.nets.recursive import Recursive
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Pairs
from hatchel.objective.estimators.gaussian import Gaussian
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.objective import Objective
from hatchel.objective.terms.features import PairwiseInformation
from hatchel.objective.trace import Trace
from tests.conftest import trace_of

CORRELATIONS = torch.tensor([[1.0, 0.8, 0.5], [0.8, 1.0, 0.0], [0.5, 0.0, 1.0]])


def information(rho: float) -> float:
    return -0.5 * math.log(1 - rho**2)


def trace(step: int, batch: int = 512, grad: bool = False) -> Trace:
    """A code with these correlations, and a layer m2 whose members' means over space are noisy copies of it."""
    g = torch.Generator().manual_seed(step)
    z = torch.randn(batch, 3, generator=g) @ torch.linalg.cholesky(CORRELATIONS).T
    copies = 0.8 * z + 0.6 * torch.randn(batch, 3, generator=g)  # I(m_i; z_i) at 0.8
    # Two channels, of which one is noise; the maps differ from their mean by what averages out.
    m = torch.stack((copies, torch.randn(batch, 3, generator=g)), 2)[..., None, None]
    ripple = torch.tensor([[1.0, -1.0], [-2.0, 2.0]])
    m = (m + ripple).requires_grad_(grad)
    z.requires_grad_(grad)
    q = DiagonalGaussian(z, torch.zeros_like(z))
    return trace_of(q, z, n_data=10_000, step=step, features={"m2": m})


def shapes(t: Trace) -> dict[str, tuple[int, ...]]:
    return {name: tuple(feature.shape[1:]) for name, feature in t.features.items()}


def within(rho: list[float]) -> list[float]:
    return [information(r) for r in rho]


WITHIN_CODE = within([0.8, 0.5, 0.0])
WITHIN_M2 = within([0.64 * 0.8, 0.64 * 0.5, 0.0])
BETWEEN = within([0.8 * r for r in (0.8, 0.5, 0.8, 0.0, 0.5, 0.0)])  # (0,1) (0,2) (1,0) (1,2) (2,0) (2,1)


@pytest.mark.parametrize("nets", ["shared", "specific"])
def test_mine_recovers_the_information_of_every_pair(nets: str) -> None:
    """Within 0.06 nats of -1/2 log(1 - rho^2), rho from 0 to 0.8, in all three kinds of pairs at once."""
    by = MINE(hidden=32)
    terms = {
        "within": 1.0 * PairwiseInformation(by, ("m2",), "within", nets),
        "between": 1.0 * PairwiseInformation(by, ("m2",), "between", nets),
    }
    start = trace(0)
    torch.manual_seed(0)
    objective = Objective(terms, start.q.layout, shapes(start))
    optimizer = torch.optim.Adam(objective.parameters(), lr=2e-3)
    for step in range(300):
        optimizer.zero_grad()
        objective(trace(step)).total.backward()
        optimizer.step()
    truths = {"within": WITHIN_M2, "within_1": WITHIN_CODE, "between": BETWEEN}
    kinds = dict(zip(truths, (*terms["within"].term.pairs(), *terms["between"].term.pairs()), strict=True))
    for label, truth in truths.items():
        found = torch.stack([bounds(objective, label, kinds[label], trace(10_000 + k)) for k in range(20)]).mean(0)
        torch.testing.assert_close(found, torch.tensor(truth), atol=0.06, rtol=0)
    # Inside a layer every unordered pair counts once.
    with torch.no_grad():
        terms_of = torch.stack([torch.stack(list(objective(trace(20_000 + k)).terms.values())) for k in range(20)])
    expected = [sum(WITHIN_M2 + WITHIN_CODE), sum(BETWEEN)]
    torch.testing.assert_close(terms_of.mean(0), torch.tensor(expected), atol=0.25, rtol=0)


@torch.no_grad()
def bounds(objective: Objective, label: str, pairs: Pairs, t: Trace) -> torch.Tensor:
    left, right = (pairs.members(n, t.q.layout, t.z, t.features).flatten(1) for n in (pairs.left, pairs.right))
    order = torch.randperm(len(t.z), generator=torch.Generator().manual_seed(t.batch.step))
    return objective.critics[label].bounds(torch.cat((left, right), 1), torch.cat((left, right[order]), 1))


@pytest.mark.parametrize("nets", ["shared", "specific"])
@pytest.mark.parametrize("inputs, width", [("pooled", 2), ("2x2", 8), ("flat", 8)])
def test_all_pairs_at_once_equal_one_by_one(nets: str, inputs: str, width: int) -> None:
    term = PairwiseInformation(MINE(hidden=8), ("m2",), "between", nets, inputs)
    t = trace(1, batch=20)
    torch.manual_seed(1)
    net = Objective({"it": 1.0 * term}, t.q.layout, shapes(t)).critics["it"].net
    (pairs,) = term.pairs()
    a, b = (pairs.members(n, t.q.layout, t.z, t.features) for n in (pairs.left, pairs.right))
    assert a.shape[2] == width
    scores = net(torch.cat((a.flatten(1), b.flatten(1)), 1))
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]):
        g = 0 if nets == "shared" else p
        weights = torch.cat((net.first_left[g], net.first_right[g]))
        x = (torch.cat((a[:, i], b[:, j]), 1) @ weights + net.identity[p]).relu()
        for layer in net.hidden:
            x = (x @ layer.weight[g] + layer.bias[g]).relu()
        torch.testing.assert_close(scores[:, p], (x @ net.last.weight[g] + net.last.bias[g])[:, 0])


def test_the_paper_s_number_of_layers() -> None:
    t = trace(0, batch=4)
    for nets, pairs in (("shared", 1), ("specific", 3)):
        objective = Objective({"it": 1.0 * PairwiseInformation(MINE(hidden=8), nets=nets)}, t.q.layout)
        hidden = 2 * (8 * 8 + 8) + (8 + 1)  # four layers: two inputs to 8, 8 to 8 twice, 8 to 1
        assert sum(p.numel() for p in objective.parameters()) == pairs * (2 * 8 + hidden) + 3 * 8


@pytest.mark.parametrize("over", ["within", "between"])
def test_no_gradient_crosses(over: str) -> None:
    t = trace(3, batch=32, grad=True)
    term = PairwiseInformation(MINE(hidden=8), ("m2",), over)
    objective = Objective({"it": 3.0 * term}, t.q.layout, shapes(t))
    inputs, networks = [t.z, t.features["m2"]], list(objective.parameters())

    def gradients(loss: torch.Tensor) -> tuple[list[torch.Tensor | None], list[torch.Tensor | None]]:
        found = torch.autograd.grad(loss, [*inputs, *networks], allow_unused=True, retain_graph=True)
        return list(found[:2]), list(found[2:])

    encoder, network = gradients(objective(t).total)
    keys = {(term.by, pairs): critic for pairs, critic in zip(term.pairs(), objective.critics.values(), strict=True)}
    evaluator = Evaluator(t, {}, keys)
    encoder_of_model, network_of_model = gradients(3.0 * mean(term.value(t, evaluator)))
    for buffer in objective.critics.buffers():
        if buffer.is_floating_point():
            buffer.fill_(math.nan)
    encoder_of_critic, network_of_critic = gradients(sum(evaluator.critic_losses().values()))
    assert encoder_of_critic == [None, None]
    assert all(g is None for g in network_of_model)
    torch.testing.assert_close(encoder, encoder_of_model)
    torch.testing.assert_close(network, network_of_critic)


def test_pairs_of_the_code_by_a_density() -> None:
    """The Gaussian estimate has the closed form -1/2 log(1 - r_ij^2) of the batch's own correlations."""
    t = trace(4)
    term = PairwiseInformation(Gaussian())
    found = Objective({"it": 1.0 * term}, t.q.layout)(t).objective
    r = torch.corrcoef(t.z.T)
    expected = sum(-0.5 * torch.log(1 - r[i, j] ** 2) for i, j in ((0, 1), (0, 2), (1, 2)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_index_and_members() -> None:
    assert Pairs("m2", "m2").index(3, 3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert Pairs("m2", "m3").index(2, 3).tolist() == [[0, 1], [0, 2], [1, 0], [1, 2]]
    z = torch.arange(8.0).view(2, 4)
    for together, members in ((2, [[0, 1], [2, 3]]), (3, [[0, 1, 2], [3, 0, 0]])):
        pairs = Pairs("z", "z", standardised=False, together=together)
        assert pairs.members("z", plain_layout(4), z, {}).tolist()[0] == members
        assert pairs.size("z", plain_layout(4), {}) == (len(members), len(members[0]))


@pytest.mark.parametrize("side", [(4, 4), (5, 6), (1, 1)])
@pytest.mark.parametrize("grid", [1, 2, 4, None])
def test_cells_are_means_over_parts_of_a_map(grid: int | None, side: tuple[int, int]) -> None:
    feature = torch.rand(2, 3, 5, *side, generator=torch.Generator().manual_seed(0))
    pairs = Pairs("m2", "z", grid=grid, standardised=False)
    found = pairs.members("m2", plain_layout(4), torch.zeros(2, 4), {"m2": feature})
    cells = [min(grid, s) for s in side] if grid else list(side)
    expected = torch.nn.functional.adaptive_avg_pool2d(feature.flatten(0, 1), cells).view(2, 3, -1)
    torch.testing.assert_close(found, expected)
    assert pairs.size("m2", plain_layout(4), {"m2": (3, 5, *side)}) == tuple(expected.shape[1:])


def test_standardised_inputs_have_no_units() -> None:
    """Mean 0 and variance 1 of every number, a constant is 0, and the gradient does not see the scale."""
    t = trace(5, batch=64)
    pairs, layout = Pairs("m2", "z", grid=2), t.q.layout
    m = t.features["m2"].detach()
    found = pairs.members("m2", layout, t.z, {"m2": m})
    torch.testing.assert_close(found.mean(0), torch.zeros(3, 8), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.var(0, correction=0), torch.ones(3, 8), atol=1e-4, rtol=0)
    torch.testing.assert_close(pairs.members("m2", layout, t.z, {"m2": 7 - 30 * m}), -found, atol=1e-4, rtol=0)
    scale = torch.ones((), requires_grad=True)
    pairs.members("m2", layout, t.z, {"m2": scale * m}).pow(3).sum().backward()
    assert abs(float(scale.grad)) < 1e-2
    assert not pairs.members("m2", layout, t.z, {"m2": torch.full_like(m, 3.0)}).any()


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({}, [("m2", "m2"), ("m3", "m3"), ("z", "z")]),
        ({"over": "between"}, [("m2", "m3"), ("m3", "z")]),
        ({"over": "between", "routed": ("routed2", "routed3")}, [("routed2", "m3"), ("routed3", "z")]),
    ],
)
def test_which_layers_are_paired(fields: dict[str, object], expected: list[tuple[str, str]]) -> None:
    term = PairwiseInformation(MINE(), ("m2", "m3"), **fields)
    assert [(p.left, p.right) for p in term.pairs()] == expected


def histogram_information(a: np.ndarray, b: np.ndarray) -> float:
    """I(a; b) of rows (n, numbers), each number in bins one standard deviation wide, by counting rows."""
    (_, left), (_, right) = (np.unique(np.round(m / (m.std(0) + 1e-6)), axis=0, return_inverse=True) for m in (a, b))
    counts = np.zeros((left.max() + 1, right.max() + 1))
    np.add.at(counts, (left.ravel(), right.ravel()), 1)
    p = counts / counts.sum()
    product = p.sum(1, keepdims=True) @ p.sum(0, keepdims=True)
    return float((p[p > 0] * np.log(p[p > 0] / product[p > 0])).sum())


@pytest.mark.parametrize("depth, sees", [(1, True), (2, True), (1, False)])
def test_mine_follows_a_histogram_on_a_frozen_encoder(depth: int, sees: bool) -> None:
    """`within` of RecurD's features after 150 steps at the model's rate: half to twice what a histogram counts.

    All 64 places of a square, so that a histogram knows all there is; with raw inputs and the rate of 1e-4 that
    discriminators have, MINE is blind.
    """
    images = XYSquares(size=16).load().reader("cpu")(torch.arange(64))
    torch.manual_seed(0)
    encoded = Recursive(depth).build((1, 16, 16), (2,) * 4)(images)
    modules = tuple(f"m{level}" for level in range(2, depth + 2))
    maps = {name: encoded.features[name].detach() for name in modules}
    counted = 0.0
    for feature in maps.values():
        cells = torch.nn.functional.adaptive_avg_pool2d(feature.flatten(0, 1), 2).view(64, feature.shape[1], -1).numpy()
        counted += sum(
            histogram_information(cells[:, i], cells[:, j]) for i, j in combinations(range(cells.shape[1]), 2)
        )
    q = DiagonalGaussian(*encoded.parameters.detach().unflatten(1, (4, 2)).unbind(2))
    term = PairwiseInformation(modules=modules, standardised=sees)
    objective = Objective({"within": 1.0 * term}, q.layout, {k: tuple(v.shape[1:]) for k, v in maps.items()})
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3 if sees else 1e-4)
    read: list[float] = []
    for step in range(150):
        rows = torch.randint(64, (128,), generator=torch.Generator().manual_seed(step))
        part = DiagonalGaussian(q.mean[rows], q.variance[rows].log())
        noise = torch.Generator().manual_seed(step)
        t = trace_of(part, part.rsample(noise), step=step, features={k: v[rows] for k, v in maps.items()})
        loss = objective(t)
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        read.append(float(loss.terms["within"]))
    ratio = sum(read[-30:]) / 30 / counted
    assert 0.5 < ratio < 2 if sees else ratio < 0.2


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"modules": ("m3",)}, r"objective.it: this encoder has no feature m3 .it has m2, row.; set encoder=recursive"),
        ({"modules": ("row",)}, "the feature row has no members to pair"),
        ({"over": "between"}, "modules: pairs between layers need at least one feature"),
        ({"modules": ("m2",), "by": Gaussian()}, "by: gaussian knows no density of an encoder's features; use mine"),
        ({"by": DensityRatio()}, "objective.it: density_ratio cannot compare pairs of features; use by=mine"),
        ({"together": 3}, "the latent has one member only"),
        ({"modules": ("m2",), "routed": ("m2",)}, "routed: name one feature for each of `modules`, for pairs between"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(fields: dict[str, object], message: str) -> None:
    t = trace(0, batch=4)
    features = {**shapes(t), "row": (7,)}
    with pytest.raises(HatchelError, match=message):
        Objective({"it": 1.0 * PairwiseInformation(**fields)}, t.q.layout, features)
