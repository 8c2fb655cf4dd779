"""Residual cells, the building blocks of deep hierarchical VAEs."""

from __future__ import annotations

from torch import Tensor, nn

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
        """(B, C, H, W) -> (B, C, H, W)."""
        change: Tensor = self.body(x)
        return x + 0.1 * self.gate(change) * change
