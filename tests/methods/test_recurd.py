from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.objective.objective import Loss
from hatchel.objective.trace import Batch
from hatchel.training.loop import make_optimizer
from hatchel.training.model import System
from hatchel.training.spec import RunSpec

SHAPE = (1, 32, 32)
X = torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(0))


def step(spec: RunSpec) -> tuple[System, Loss, list[torch.Tensor]]:
    system = spec.fit_to_shape(SHAPE).build(SHAPE)
    loss = system(Batch(X, 1000, 2))
    loss.total.backward()
    return system, loss, [p.grad for p in system.model.parameters()]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_without_pairs_it_is_beta_vae_on_that_architecture(depth: int) -> None:
    """Value, gradient and nothing left over: exactly."""
    recurd = resolve("recurd", "xy_squares", {"depth": depth, "l1": 3, "l2": 0, "between": "none"})
    parts = {"encoder": recurd.encoder, "decoder": recurd.decoder, "latent": recurd.latent}
    beta_vae = resolve("beta_vae", "xy_squares", {"beta": 3}).with_fields(**parts)
    system, ours, our_gradients = step(recurd)
    _, theirs, their_gradients = step(beta_vae)
    assert torch.equal(ours.total, theirs.total)
    assert all(torch.equal(a, b) for a, b in zip(our_gradients, their_gradients, strict=True))
    assert not list(system.objective.parameters())


@pytest.mark.parametrize(
    "symbols, left_out",
    [({"l2": 0}, "within"), ({"kl": False}, "kl"), ({"between": "none"}, "between"), ({"depth": 0}, "between")],
)
def test_each_switch_leaves_out_one_term_alone(symbols: dict[str, object], left_out: str) -> None:
    every = {"rec", "kl", "between", "within"}
    assert set(resolve("recurd", "xy_squares").objective) == every
    assert set(resolve("recurd", "xy_squares", symbols).objective) == every - {left_out}


@pytest.mark.parametrize(
    "symbols, within, between",
    [
        # Of 4 (or 2 and 4) features and 8 heads: unordered pairs inside a layer; read and given between layers.
        ({"depth": 0}, [28], []),
        ({"depth": 1}, [6, 28], [8 * 7]),
        ({"depth": 2}, [1, 6, 28], [4 * 3, 8 * 7]),
        ({"depth": 2, "heads": 16}, [1, 6, 120], [4 * 3, 16 * 15]),
        ({"depth": 2, "between": "outputs"}, [1, 6, 28], [2 * 4 - 2, 4 * 8 - 4]),
        ({"depth": 2, "within": "routed"}, [6, 28, 28], [4 * 3, 8 * 7]),
    ],
)
def test_loss_is_the_weighted_sum_over_all_pairs(
    symbols: dict[str, object], within: list[int], between: list[int]
) -> None:
    system, loss, _ = step(resolve("recurd", "xy_squares", {**symbols, "l1": 3, "l2": 5}))
    weights = {"rec": 1, "kl": 3, "between": 3, "within": 5}
    expected = sum(weights[name] * value for name, value in loss.terms.items())
    torch.testing.assert_close(loss.objective, expected)
    pairs = {name: len(critic.log_average) for name, critic in system.objective.critics.items()}
    assert [n for name, n in pairs.items() if name.startswith("within")] == within
    assert [n for name, n in pairs.items() if name.startswith("between")] == between


def test_between_reads_what_an_encoder_reads_and_what_another_gives() -> None:
    terms = resolve("recurd", "xy_squares", {"depth": 2}).objective
    assert [(p.left, p.right) for p in terms["between"].term.pairs()] == [("routed2", "m3"), ("routed3", "z")]
    assert [(p.left, p.right) for p in terms["within"].term.pairs()] == [("m2", "m2"), ("m3", "m3"), ("z", "z")]


def test_specific_networks_and_flat_inputs_and_two_dimensions_a_head() -> None:
    spec = resolve("recurd", "xy_squares", {"nets": "specific", "inputs": "flat", "together": 2})
    assert spec.latent.width == 16
    system, loss, _ = step(spec)
    assert loss.objective.isfinite()
    assert system.model.encoder.last.branches == 8
    flat = 16 * 8 * 8
    assert system.objective.critics["between"].net.first_left.shape == (56, flat, 128)
    assert system.objective.critics["between"].net.first_right.shape == (56, 2, 128)


def test_mine_learns_at_the_models_rate_unless_it_has_its_own() -> None:
    def rates(changes: dict[str, object]) -> list[float]:
        spec = resolve("recurd", "xy_squares", changes).fit_to_shape(SHAPE)
        return [g["lr"] for g in make_optimizer(spec.build(SHAPE), spec, torch.device("cpu")).param_groups]

    assert rates({}) == [1e-4, 1e-4]
    assert rates({"optimizer.lr": 1e-3}) == [1e-3, 1e-3]
    assert rates({"optimizer.lr": 1e-3, "critic_optimizer.lr": 2e-3}) == [1e-3, 2e-3]


def test_other_crosses() -> None:
    for kind, fields in (
        ("beta_tcvae", {"encoder": "recursive"}),
        ("factor_vae", {"encoder": "split", "latent": "correlated", "objective.tc.term.by.hidden": 16}),
        ("dip_vae_ii", {"encoder": "sharing", "latent": "correlated"}),
        ("recurd", {"latent": "correlated", "encoder.router": "linear"}),
    ):
        _, loss, gradients = step(updated(resolve(kind, "xy_squares"), fields))
        assert loss.objective.isfinite()
        assert all(g.isfinite().all() for g in gradients)
    with pytest.raises(HatchelError, match=r"objective.between: this encoder has no feature routed2 "):
        step(updated(resolve("recurd", "xy_squares"), {"encoder": "split"}))
