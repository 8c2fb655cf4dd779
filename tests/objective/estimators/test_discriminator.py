"""Discriminator: its optimum for known densities, and what reads images."""

from __future__ import annotations

import torch
from torch import nn

from hatchel.objective.estimators.discriminator import Discriminator


def test_the_optimum_is_the_log_ratio_of_two_normals() -> None:
    """Generated N(1, 1) against data N(0, 1): log p(generated) - log p(data) = x - 1/2."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        judge = Discriminator(hidden=(32, 32)).build_items((1,))
    optimizer = torch.optim.Adam(judge.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(0)
    for _ in range(600):
        optimizer.zero_grad()
        judge.loss(1 + torch.randn(512, 1, generator=g), torch.randn(512, 1, generator=g)).mean().backward()
        optimizer.step()
    x = torch.linspace(-1, 2, 13)[:, None]
    found = judge(x, x).detach()
    torch.testing.assert_close(found, x[:, 0] - 0.5, atol=0.15, rtol=0)


def test_the_loss_is_the_cross_entropy_of_both_kinds() -> None:
    judge = Discriminator().build(3)
    made, data = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).unbind(0)
    chance = lambda x: judge.net(x)[:, 0].sigmoid()  # noqa: E731
    expected = -0.5 * (chance(made).log() + (1 - chance(data)).log())
    torch.testing.assert_close(judge.loss(made, data), expected)


def test_images_are_convolved_and_the_rest_is_not() -> None:
    def convolutions(shape: tuple[int, ...]) -> list[int]:
        judge = Discriminator().build_items(shape)
        assert judge(torch.zeros(2, *shape), torch.zeros(0)).shape == (2,)
        return [m.out_channels for m in judge.modules() if isinstance(m, nn.Conv2d)]

    assert convolutions((1, 64, 64)) == [32, 32, 64, 64]
    assert convolutions((3, 16, 16)) == [64, 64]
    assert convolutions((1, 28, 28)) == [32, 64, 64]
    assert convolutions((1, 8, 8)) == convolutions((7,)) == []
