"""The plain nets of RecurD (Chen et al., Recursive Disentanglement Network), Table 3: its "RecurD 0" and baselines."""

from __future__ import annotations

from torch import nn

from hatchel.nets.conv import Conv
from hatchel.nets.deconv import Deconv
from hatchel.nets.grid import halvings
from hatchel.nets.part import Decoder, Encoder, Shape
from hatchel.spec import Count


class Recurd0(Encoder):
    """Convolutions 32, 32, 64, 64 (4x4, stride 2, ReLU), FC 128, then the latent's numbers (RecurD, Table 3).

    The paper prints no activation after FC 128; we use ReLU, as its decoder has, for without one two linear layers are
    one. It prints "128 (256)" beside "dSprites (3DShapes)": 128 for one channel, 256 for three.

    >>> sum(p.numel() for p in Recurd0().build((1, 64, 64), (2,) * 8).parameters())
    248656
    """

    hidden: Count = 128
    "Size of the fully connected layer; the paper has 256 for images with colour."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        """Features: conv1, ..., hidden1."""
        halvings(shape, "encoder=recurd0", "encoder=mlp")
        return Conv(hidden=(self.hidden,)).build(shape, widths)


class Recurd0Decoder(Decoder):
    """FC 128, FC 4x4x64, transposed convolutions 64, 32, 32 and the image's channels, ReLU (RecurD, Table 3).

    The paper prints ReLU after the last layer too; we use none: as a logit or mean it must be free to be negative, and
    its reconstruction error is a cross-entropy.

    >>> sum(p.numel() for p in Recurd0Decoder().build(8, (1, 64, 64)).parameters())
    248577
    """

    hidden: Count = 128
    "Size of the fully connected layer."

    def build(self, width: int, shape: Shape) -> nn.Module:
        """z (B, width) -> (B, C, H, W)."""
        halvings(shape, "decoder=recurd0_decoder", "decoder=mlp_decoder")
        return Deconv(hidden=(self.hidden,)).build(width, shape)
