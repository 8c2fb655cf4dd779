"""ClosedKL: the weights of each coordinate, stage by stage."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.objective.objective import Objective
from hatchel.objective.terms.elbo import KL, ClosedKL, RealKL
from hatchel.objective.trace import Trace
from tests.conftest import MIXED, gaussian_trace, mixed_trace


def at_step(t: Trace, step: int) -> Trace:
    return dataclasses.replace(t, batch=dataclasses.replace(t.batch, step=step))


@pytest.mark.parametrize(
    ("step", "weights"), [(0, (2, 9, 9, 9)), (9, (2, 9, 9, 9)), (10, (2, 2, 9, 9)), (99, (2,) * 4)]
)
def test_weights_by_stage(step: int, weights: tuple[float, ...]) -> None:
    t = at_step(gaussian_trace(dim=4), step)
    terms = {"kl": 2.0 * KL(), "closed": (9.0 - 2.0) * ClosedKL(every=10, first=1)}
    found = Objective(terms, t.q.layout)(t).objective
    by_site = t.p.kl(t.q, t.z).mean(0)
    torch.testing.assert_close(found, (torch.tensor(weights, dtype=torch.float64) * by_site).sum())


def test_the_gradient_falls_on_closed_coordinates_alone() -> None:
    t = at_step(gaussian_trace(dim=4), 25)
    Objective({"it": 1.0 * ClosedKL(every=10, first=1)}, t.q.layout)(t).total.backward()
    assert t.q.mean.grad[:, :3].abs().max() == 0
    torch.testing.assert_close(t.q.mean.grad[:, 3], t.q.mean.detach()[:, 3] / len(t.z))


@pytest.mark.parametrize("discrete_kl", ["drawn", "categorical"])
def test_the_kl_of_the_real_coordinates_leaves_the_classes_out(discrete_kl: str) -> None:
    t = mixed_trace(dataclasses.replace(MIXED["mixed"], discrete_kl=discrete_kl))
    found = RealKL().value(t, None)  # pyright: ignore[reportArgumentType]
    torch.testing.assert_close(found, KL(("style",)).value(t, None))  # pyright: ignore[reportArgumentType]
    plain = gaussian_trace(dim=4)
    torch.testing.assert_close(RealKL().value(plain, None), KL().value(plain, None))  # pyright: ignore[reportArgumentType]


def test_classes_are_never_closed_and_a_drawn_kl_is_refused() -> None:
    latent = dataclasses.replace(MIXED["mixed"], discrete_kl="categorical")
    t = mixed_trace(latent)
    found = ClosedKL(first=0).value(t, None)  # pyright: ignore[reportArgumentType]
    torch.testing.assert_close(found, t.p.kl(t.q, t.z)[:, 1:].sum(1))
    with pytest.raises(HatchelError, match="no closed form by coordinate"):
        Objective({"it": 1.0 * ClosedKL()}, mixed_trace(MIXED["mixed"]).q.layout)
