"""Residual networks, and the cells of deep hierarchical VAEs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.nets.layers import GRID, Grid, ToRow, ToShape, Upconv, grid_of
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape

EXPAND = 2
"""How much wider a cell is inside (NVAE: 6)."""


class Cell(nn.Module):
    """x + f(x) / 10, f: norm, 1x1 to wider, 5x5 by channel, 1x1 back, squeeze and excite (Vahdat & Kautz 2020, Fig. 3).

    Norms are over all values of an item, not over the batch, so that items stay independent of each other.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = EXPAND * channels
        self.body = nn.Sequential(
            nn.GroupNorm(1, channels),
            nn.Conv2d(channels, wide, 1),
            nn.SiLU(),
            nn.Conv2d(wide, wide, 5, padding=2, groups=wide),
            nn.SiLU(),
            nn.Conv2d(wide, channels, 1),
        )
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.body(x)
        return x + 0.1 * self.gate(change) * change


FINEST = 16
"""Side of the finest maps that get cells: finer ones would take four fifths of the time."""


class Residual(Encoder):
    """Residual cells at every scale from 16x16 down to 4x4, then one cell on a single point.

    With `maps`, each group of latent variables is read off the features of its own scale, as the upward half of NVAE's
    bidirectional encoder does; without, all numbers are read off the single point.
    """

    channels: Count = 32
    "Of the features at all scales."
    maps: tuple[tuple[Count, Count], ...] = ()
    "(variables at each point, side) of each group of sites, in the sites' order: latent.maps of latent=nvae."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        grid = _square(shape, "encoder=residual", "encoder=mlp")
        sides = [GRID << i for i in reversed(range(grid.layers))]
        if self.maps:
            sites = sum(count * side * side for count, side in self.maps)
            if sites != len(widths) or set(widths) != {2}:
                raise HatchelError(
                    f"encoder=residual has maps for {sites} sites of two numbers, the latent has {len(widths)}. "
                    "Set encoder.maps as latent=nvae has them, or leave it out"
                )
            for _, side in self.maps:
                if side not in (*sides, 1):
                    known = ", ".join(map(str, (*sides, 1)))
                    raise HatchelError(
                        f"encoder=residual has no side {side} for these images, only {known}. Set latent.sides"
                    )
        net = _ResidualNet(shape[0], self.channels, sides, self.maps, sum(widths))
        padding = grid.padding(shape)
        return nn.Sequential(*padding, net) if padding else net


class _ResidualNet(nn.Module):
    def __init__(
        self, inputs: int, channels: int, sides: list[int], maps: tuple[tuple[int, int], ...], numbers: int
    ) -> None:
        super().__init__()
        self.maps = maps
        # Nothing would read what lies below the smallest side in use.
        least = min((side for _, side in maps), default=1)
        self.down = nn.ModuleDict()
        for i, side in enumerate(s for s in sides if s >= least):
            halved = nn.Conv2d(inputs if i == 0 else channels, channels, 4, stride=2, padding=1)
            self.down[f"side{side}"] = nn.Sequential(halved, nn.SiLU(), *_cells(channels, side))
        if least == 1:
            point = nn.Conv2d(channels, channels, GRID)
            self.down["side1"] = nn.Sequential(point, nn.SiLU(), Cell(channels))
        heads = [nn.Conv2d(channels, 2 * count, 1) for count, _ in maps] or [nn.Conv2d(channels, numbers, 1)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor) -> Encoded:
        features: dict[str, Tensor] = {}
        for name, layer in self.down.items():
            x = layer(x)
            features[name] = x
        if not self.maps:
            return Encoded(self.heads[0](features["side1"]).flatten(1), features)
        parts: list[Tensor] = []
        for head, (count, side) in zip(self.heads, self.maps, strict=True):
            numbers: Tensor = head(features[f"side{side}"])
            # Site by site, in the order (variable, row, column), a mean and a log-variance each.
            parts.append(numbers.unflatten(1, (count, 2)).permute(0, 1, 3, 4, 2).flatten(1))
        return Encoded(torch.cat(parts, 1), features)


class ResidualDecoder(Decoder, kind="residual_decoder"):
    """Residual cells from a small map up to 16x16, a transposed convolution between every two scales."""

    channels: Count = 32
    "Of the features at all scales."
    state: tuple[Count, Count] | None = None
    "(channels, side) of the map that the code is, as latent=nvae gives it; left out: a linear layer makes one of 4x4."

    def build(self, width: int, shape: Shape) -> nn.Module:
        grid = _square(shape, "decoder=residual_decoder", "decoder=mlp_decoder")
        whole = GRID << grid.layers
        first: list[nn.Module]
        if self.state is None:
            side = GRID
            first = [nn.Linear(width, self.channels * GRID**2), ToShape((self.channels, GRID, GRID))]
        else:
            channels, side = self.state
            if channels * side * side != width:
                raise HatchelError(
                    f"decoder=residual_decoder expects a map of {channels}x{side}x{side} and gets {width} numbers. "
                    "Set decoder.state as latent=nvae has it, or leave it out"
                )
            if side > whole or whole % side:
                raise HatchelError(
                    f"decoder=residual_decoder cannot double a side of {side} to {whole}. Set latent.sides"
                )
            first = [ToShape((channels, side, side)), nn.Conv2d(channels, self.channels, 1)]
        layers = _cells(self.channels, side)
        while 2 * side < whole:
            side *= 2
            layers += [Upconv(self.channels, self.channels), nn.SiLU(), *_cells(self.channels, side)]
        last = Upconv(self.channels, shape[0]) if side < whole else nn.Conv2d(self.channels, shape[0], 1)
        return nn.Sequential(*first, *layers, last, *grid.cropping(shape))


def _square(shape: Shape, net: str, instead: str) -> Grid:
    """4x4, from the next power of two of the longer side, as the sides of latent=nvae's maps are powers of two."""
    grid_of(shape, net, instead)
    return Grid(max(4, (max(shape[1:]) - 1).bit_length()) - 2, GRID, GRID)


def _cells(channels: int, side: int) -> list[nn.Module]:
    return [Cell(channels)] if side <= FINEST else []


def to_map(row: Tensor, channels: int, side: int) -> Tensor:
    """(B, channels side side), sites in the order (variable, row, column), as a map (B, channels, side, side)."""
    return row.unflatten(1, (channels, side, side))


def to_state(image: Tensor) -> Tensor:
    """A map as the row that a decoder unfolds."""
    return ToRow()(image)
