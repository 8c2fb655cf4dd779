"""RecurD's encoders and decoder: groups of encoders with routers between them, and the plain baseline."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from torch import Tensor, nn

from hatchel.core.spec import Count
from hatchel.nets.conv import Conv, Deconv
from hatchel.nets.group import Branches, GroupedConv, branches_of, convolution, image_shape
from hatchel.nets.layers import halvings
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape
from hatchel.nets.router import AttentionRouter, FixedRouter, LinearRouter, Router


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
        halvings(shape, "decoder=recurd0_decoder", "decoder=mlp_decoder")
        return Deconv(hidden=(self.hidden,)).build(width, shape)


MODULES: dict[int, tuple[tuple[int, tuple[int, ...]], ...]] = {
    1: ((4, (32, 64)),),
    2: ((2, (32,)), (4, (16,))),
}
"""Tables 4 and 5: for each module but the last, how many encoders, and the channels of each one's convolutions."""
LAST_CHANNELS = 16


class Recursive(Encoder):
    """Modules of a router and a group of encoders; the last group's encoders give one latent site each.

    m_j^{l+1} = Enc_j(sum_i w_ij^l m_i^l) (RecurD 2022, Eq. 6), the first module without a router. Depth 1 is Table 4:
    4 x [conv 32, conv 64], router, D x [conv 16, FC 16, FC]; depth 2 is Table 5: 2 x conv 32, router, 4 x conv 16,
    router, D x [conv 16, FC 16, FC]; all convolutions 4x4, stride 2. The paper has 8 and 16 latent dimensions, which
    the latent decides here, and prints no activation after FC 16; we use ReLU, for without one two linear layers are
    one. Images of any size from 8x8; depth 0 is the encoder `recurd0`.

    >>> net = Recursive().build((1, 64, 64), (2,) * 8)
    >>> sum(p.numel() for p in net.parameters())
    396208
    """

    depth: Literal[1, 2] = 1
    "How many modules have a router: Table 4 or Table 5."
    k: Count = 2
    "How many features each encoder reads: 1 to the number of encoders before it. The paper does not print its choice."
    router: Literal["similarity", "linear", "fixed", "attention"] = "similarity"
    "The paper's, or one of its three ablations (Table 9)."
    scaled: bool = True
    "Divide the similarity by the root of the features' length; the paper does not."
    hidden: Count = 16
    "Units of each last encoder's fully connected layer."
    together: Count = 1
    "Sites each last encoder gives; the paper has 2 on CelebA."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        """Features: m2, m3, ...: what the encoders of module 2, 3, ... read, (B, encoders, C, H, W)."""
        modules = MODULES[self.depth]
        depth = sum(len(channels) for _, channels in modules) + 1
        channels, height, width = image_shape(shape, depth, "encoder=recursive")
        counts = [count for count, _ in modules] + [branches_of(widths, self.together)]
        groups: list[nn.Module] = []
        routers: list[nn.Module] = []
        for i, ((count, sizes), following) in enumerate(zip(modules, counts[1:], strict=True)):
            groups.append(_group(count, (channels, *sizes), own=i > 0))
            height, width = height >> len(sizes), width >> len(sizes)
            routers.append(self._router((sizes[-1], height, width), count, following))
            channels = sizes[-1] * count // following if self.router == "fixed" else sizes[-1]
        last = Branches(
            (channels, height, width),
            widths,
            channels=LAST_CHANNELS,
            hidden=self.hidden,
            together=self.together,
            own=True,
        )
        return _Recursion(counts, groups, routers, last)

    def _router(self, shape: Shape, inputs: int, outputs: int) -> nn.Module:
        match self.router:
            case "similarity":
                return Router(shape, inputs, outputs, self.k, self.scaled)
            case "linear":
                return LinearRouter(shape, outputs)
            case "fixed":
                return FixedRouter(shape, inputs, outputs)
            case "attention":
                return AttentionRouter(shape, outputs)


class _Recursion(nn.Module):
    def __init__(self, counts: list[int], groups: list[nn.Module], routers: list[nn.Module], last: nn.Module) -> None:
        super().__init__()
        self.counts = counts
        self.groups = nn.ModuleList(groups)
        self.routers = nn.ModuleList(routers)
        self.last = last

    def forward(self, x: Tensor) -> Encoded:
        features: dict[str, Tensor] = {}
        for i, (group, router) in enumerate(zip(self.groups, self.routers, strict=True)):
            m = group(x).unflatten(1, (self.counts[i], -1))  # (B, d, C, H, W)
            routed = router(m)
            features[f"m{i + 2}"] = routed
            x = routed.flatten(1, 2)
        return Encoded(self.last(x), features)


def _group(count: int, channels: tuple[int, ...], own: bool) -> nn.Sequential:
    """So many stacks of convolutions at once; without inputs of their own all read the same image."""
    if own:
        return nn.Sequential(*(GroupedConv(count, i, o) for i, o in pairwise(channels)))
    image, *inner = channels
    first = convolution(image, inner[0] * count)
    return nn.Sequential(first, *(convolution(i * count, o * count, count) for i, o in pairwise(inner)))
