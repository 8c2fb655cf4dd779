"""Pairs of layers: MINE recovers what Gaussians say about each other, each pair once, and no gradient crosses."""

from __future__ import annotations

import math

import pytest
import torch

from hatchel.core.distributed import mean
from hatchel.core.errors import HatchelError
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.latents.layout import plain_layout
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
    # Inside a layer every unordered pair counts twice.
    with torch.no_grad():
        terms_of = torch.stack([torch.stack(list(objective(trace(20_000 + k)).terms.values())) for k in range(20)])
    expected = [2 * sum(WITHIN_M2 + WITHIN_CODE), sum(BETWEEN)]
    torch.testing.assert_close(terms_of.mean(0), torch.tensor(expected), atol=0.25, rtol=0)


@torch.no_grad()
def bounds(objective: Objective, label: str, pairs: Pairs, t: Trace) -> torch.Tensor:
    left, right = (pairs.members(n, t.q.layout, t.z, t.features).flatten(1) for n in (pairs.left, pairs.right))
    order = torch.randperm(len(t.z), generator=torch.Generator().manual_seed(t.batch.step))
    return objective.critics[label].bounds(torch.cat((left, right), 1), torch.cat((left, right[order]), 1))


@pytest.mark.parametrize("nets", ["shared", "specific"])
@pytest.mark.parametrize("inputs", ["pooled", "flat"])
def test_all_pairs_at_once_equal_one_by_one(nets: str, inputs: str) -> None:
    term = PairwiseInformation(MINE(hidden=8), ("m2",), "between", nets, inputs)
    t = trace(1, batch=20)
    torch.manual_seed(1)
    net = Objective({"it": 1.0 * term}, t.q.layout, shapes(t)).critics["it"].net
    (pairs,) = term.pairs()
    a, b = (pairs.members(n, t.q.layout, t.z, t.features) for n in (pairs.left, pairs.right))
    assert a.shape[2] == (2 if inputs == "pooled" else 8)
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
    expected = sum(-torch.log(1 - r[i, j] ** 2) for i, j in ((0, 1), (0, 2), (1, 2)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_index_and_members() -> None:
    assert Pairs("m2", "m2").index(3, 3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert Pairs("m2", "m3").index(2, 3).tolist() == [[0, 1], [0, 2], [1, 0], [1, 2]]
    z = torch.arange(8.0).view(2, 4)
    for together, members in ((2, [[0, 1], [2, 3]]), (3, [[0, 1, 2], [3, 0, 0]])):
        pairs = Pairs("z", "z", together=together)
        assert pairs.members("z", plain_layout(4), z, {}).tolist()[0] == members
        assert pairs.size("z", plain_layout(4), {}) == (len(members), len(members[0]))
    for pooled in (True, False):
        pairs, feature = Pairs("m2", "z", pooled=pooled), torch.zeros(2, 3, 5, 4, 4)
        found = pairs.members("m2", plain_layout(4), z, {"m2": feature}).shape[1:]
        assert pairs.size("m2", plain_layout(4), {"m2": (3, 5, 4, 4)}) == tuple(found) == (3, 5 if pooled else 80)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"modules": ("m3",)}, r"objective.it: this encoder has no feature m3 .it has m2, row.; set encoder=recursive"),
        ({"modules": ("row",)}, "the feature row has no members to pair"),
        ({"over": "between"}, "modules: pairs between layers need at least one feature"),
        ({"modules": ("m2",), "by": Gaussian()}, "by: gaussian knows no density of an encoder's features; use mine"),
        ({"by": DensityRatio()}, "objective.it: density_ratio cannot compare pairs of features; use by=mine"),
        ({"together": 3}, "the latent has one member only"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(fields: dict[str, object], message: str) -> None:
    t = trace(0, batch=4)
    features = {**shapes(t), "row": (7,)}
    with pytest.raises(HatchelError, match=message):
        Objective({"it": 1.0 * PairwiseInformation(**fields)}, t.q.layout, features)
