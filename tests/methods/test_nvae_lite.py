"""NVAE-lite: parts that fit each other, and a code of all groups."""

from __future__ import annotations

import torch

from hatchel.data.xy_squares import XYSquares
from hatchel.latents.nvae import Nvae
from hatchel.methods.resolve import resolve
from hatchel.nets.residual import Residual, ResidualDecoder
from hatchel.objective.trace import Batch

DATA = XYSquares(size=32)


def test_parts_agree_on_the_grids() -> None:
    spec = resolve("nvae_lite", DATA, {"sides": (1, 4, 8), "variables": (4, 2, 1), "channels": 8})
    assert spec.latent == Nvae((1, 4, 8), (4, 2, 1), 8)
    assert spec.encoder == Residual(8, ((4, 1), (2, 4), (1, 8)))
    assert spec.decoder == ResidualDecoder(8, (8, 8))


def test_every_weight_learns_and_the_top_group_moves_the_picture() -> None:
    data = DATA.load()
    system = resolve("nvae_lite", DATA, {"channels": 8, "warmup": 1}).fit_to(data).build(data.shape)
    x = data.reader()(torch.arange(6))
    system(Batch(x, len(data), 5)).total.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in system.parameters())
    q = system.model.encode(x)[0]
    assert q.mean.shape == (6, 8 + 16)
    assert [len(group) for group in q.layout.groups] == [8, 16]
    # A change to the top group's mean moves the picture, through the groups below it and directly.
    with torch.no_grad():
        code = q.mean.clone()
        code[:, 0] += 1
        assert not torch.equal(system.model.decode(code), system.model.decode(q.mean))
