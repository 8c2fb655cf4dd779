"""Between images and rows: the 4x4 grid that convolutional nets end at, and the order its values are flattened in."""

from __future__ import annotations

from torch import Tensor, nn

from hatchel.errors import HatchelError
from hatchel.nets.part import Shape

GRID = 4
"""Side of the grid that stride-2 convolutions bring an image down to."""


def halvings(shape: Shape, net: str, instead: str) -> int:
    """How many stride-2 layers bring images of this shape down to 4x4; `net` and `instead` name fields for the error.

    >>> halvings((1, 64, 64), "encoder=conv", "encoder=mlp")
    4
    >>> halvings((1, 28, 28), "encoder=conv", "encoder=mlp")
    Traceback (most recent call last):
    hatchel.errors.HatchelError: encoder=conv needs square images with a side of 16, 32, 64, ...; these are 28x28. \
Set data.size=32, or encoder=mlp
    """
    if len(shape) != 3:
        raise HatchelError(f"{net} needs images (channels, height, width); the data have shape {shape}. Set {instead}")
    _, height, width = shape
    side = max(16, 1 << (max(height, width) - 1).bit_length())
    if (height, width) != (side, side):
        raise HatchelError(
            f"{net} needs square images with a side of 16, 32, 64, ...; these are {height}x{width}. "
            f"Set data.size={side}, or {instead}"
        )
    return (side // GRID).bit_length() - 1


def fitted(channels: tuple[int, ...], layers: int) -> tuple[int, ...]:
    """`channels` for so many layers, counted from the 4x4 end: small images drop the first, large ones repeat it.

    >>> fitted((32, 32, 64, 64), 2), fitted((32, 32, 64, 64), 5)
    ((64, 64), (32, 32, 32, 64, 64))
    """
    return (channels[0],) * (layers - len(channels)) + channels[max(0, len(channels) - layers) :]


class ToRow(nn.Module):
    """(B, C, H, W) -> (B, HWC), rows pass unchanged. Channels go last: a channels_last image is not copied."""

    def forward(self, x: Tensor) -> Tensor:
        """The values of each item in one row."""
        return (x.permute(0, 2, 3, 1) if x.ndim == 4 else x).flatten(1)


class ToShape(nn.Module):
    """(B, HWC) -> (B, C, H, W), the inverse of `ToRow`: the image is channels_last without a copy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, row: Tensor) -> Tensor:
        """The row folded back into the items' shape."""
        if len(self.shape) != 3:
            return row.unflatten(1, self.shape)
        channels, height, width = self.shape
        return row.unflatten(1, (height, width, channels)).permute(0, 3, 1, 2)
