from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.objective.objective import Loss
from hatchel.objective.trace import Batch
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
def test_without_l2_it_is_beta_vae_on_that_architecture(depth: int) -> None:
    """Value, gradient and nothing left over: exactly."""
    recurd = resolve("recurd", "xy_squares", {"depth": depth, "l1": 3, "l2": 0})
    parts = {"encoder": recurd.encoder, "decoder": recurd.decoder, "latent": recurd.latent}
    beta_vae = resolve("beta_vae", "xy_squares", {"beta": 3}).with_fields(**parts)
    system, ours, our_gradients = step(recurd)
    _, theirs, their_gradients = step(beta_vae)
    assert torch.equal(ours.total, theirs.total)
    assert all(torch.equal(a, b) for a, b in zip(our_gradients, their_gradients, strict=True))
    assert not list(system.objective.parameters())


@pytest.mark.parametrize("depth, within, between", [(0, [28], []), (1, [28, 28], [56]), (2, [6, 120, 120], [60, 240])])
def test_loss_is_the_weighted_sum_over_all_pairs(depth: int, within: list[int], between: list[int]) -> None:
    system, loss, _ = step(resolve("recurd", "xy_squares", {"depth": depth, "l1": 3, "l2": 5}))
    weights = {"rec": 1, "kl": 3, "between": 3, "within": 5}
    expected = sum(weights[name] * value for name, value in loss.terms.items())
    torch.testing.assert_close(loss.objective, expected)
    pairs = {name: len(critic.log_average) for name, critic in system.objective.critics.items()}
    assert [n for name, n in pairs.items() if name.startswith("within")] == within
    assert [n for name, n in pairs.items() if name.startswith("between")] == between
    assert set(loss.terms) == ({"rec", "kl", "within", "between"} if depth else {"rec", "kl", "within"})


def test_specific_networks_and_flat_inputs_and_two_dimensions_an_encoder() -> None:
    system, loss, _ = step(resolve("recurd", "xy_squares", {"nets": "specific", "inputs": "flat", "together": 2}))
    assert loss.objective.isfinite()
    assert system.model.encoder.last.branches == 8
    flat = 64 * 8 * 8
    assert system.objective.critics["between"].net.first_left.shape == (56, flat, 32)
    assert system.objective.critics["between"].net.first_right.shape == (56, 2, 32)


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
    with pytest.raises(HatchelError, match=r"objective.between: this encoder has no feature m2 "):
        step(updated(resolve("recurd", "xy_squares"), {"encoder": "split"}))
