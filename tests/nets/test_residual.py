"""Residual nets: where each site's numbers come from, and maps that both ends agree on."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.residual import Cell, Residual, ResidualDecoder, to_map, to_state

MAPS = ((3, 1), (2, 4))


def test_sites_are_laid_out_as_their_grids() -> None:
    net = Residual(8, MAPS).build((1, 16, 16), (2,) * 35)
    x = torch.rand(2, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    encoded = net(x)
    assert list(encoded.features) == ["side8", "side4", "side1"]
    pairs = encoded.parameters.unflatten(1, (35, 2))
    top, grid = (head(encoded.features[name]) for head, name in zip(net.heads, ("side1", "side4"), strict=True))
    for variable in range(3):
        torch.testing.assert_close(pairs[:, variable], top[:, 2 * variable : 2 * variable + 2, 0, 0])
    for site, (variable, row, column) in {3: (0, 0, 0), 3 + 6: (0, 1, 2), 3 + 16 + 15: (1, 3, 3)}.items():
        torch.testing.assert_close(pairs[:, site], grid[:, 2 * variable : 2 * variable + 2, row, column])
    means = to_map(pairs[:, 3:, 0], 2, 4)
    torch.testing.assert_close(means, grid[:, [0, 2]])


def test_the_decoder_unfolds_the_state_as_it_was_folded() -> None:
    state = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    net = ResidualDecoder(8, (3, 4)).build(48, (1, 16, 16))
    torch.testing.assert_close(net[0](to_state(state)), state)
    assert net(to_state(state)).shape == (2, 1, 16, 16)


def test_a_cell_starts_near_the_identity() -> None:
    x = torch.randn(4, 6, 8, 8, generator=torch.Generator().manual_seed(0))
    change = Cell(6)(x) - x
    assert 0 < float(change.detach().std()) < 0.1


def test_maps_must_fit() -> None:
    with pytest.raises(HatchelError, match=r"maps for 35 sites of two numbers, the latent has 4\. Set encoder\.maps"):
        Residual(8, MAPS).build((1, 16, 16), (2,) * 4)
    with pytest.raises(HatchelError, match="has no side 16 for these images, only 8, 4, 1"):
        Residual(8, ((1, 16),)).build((1, 16, 16), (2,) * 256)
    with pytest.raises(HatchelError, match="expects a map of 3x4x4 and gets 5 numbers"):
        ResidualDecoder(8, (3, 4)).build(5, (1, 16, 16))
    with pytest.raises(HatchelError, match="cannot double a side of 6 to 16"):
        ResidualDecoder(8, (3, 6)).build(108, (1, 16, 16))
