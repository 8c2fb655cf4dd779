"""RecurD's encoders and decoder: groups of encoders with routers between them, and the plain baseline."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from torch import Tensor, nn

from hatchel.core.spec import Count, added
from hatchel.nets.conv import Conv, Deconv
from hatchel.nets.group import Branches, GroupedConv, branches_of, convolution, image_shape
from hatchel.nets.layers import ToShape, Upconv, grid_of
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape
from hatchel.nets.router import AttentionRouter, FixedRouter, LinearRouter, NoRouter, PrintedRouter, Router


class Recurd0(Encoder):
    """Convolutions 32, 32, 64, 64 (4x4, stride 2, ReLU), FC 128 or 256, then the latent's numbers (RecurD, Table 3).

    The paper prints no activation after the FC; we use ReLU, as its decoder has, for without one two linear layers are
    one. It prints "128 (256)" beside "dSprites (3DShapes)": 128 for one channel, 256 for colour.

    >>> sum(p.numel() for p in Recurd0().build((1, 64, 64), (2,) * 8).parameters())
    248656
    """

    hidden: Count | None = None
    "Size of the fully connected layer; left out: 128 for one channel, 256 for images with colour."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        grid_of(shape, "encoder=recurd0", "encoder=mlp")
        return Conv(hidden=(self.hidden or _hidden(shape),)).build(shape, widths)


class Recurd0Decoder(Decoder):
    """FC 128 or 256, 4x4x64, transposed convolutions 64, 32, 32 and the image's channels, ReLU (RecurD, Table 3).

    The paper prints ReLU after the last layer too; we use none: as a logit or mean it must be free to be negative, and
    its reconstruction error is a cross-entropy. It prints FC 128 here for colour as well, and "FC: 4x4x64" after it;
    its Table 10 counts 256, and a transposed convolution from 1x1 to 4x4, which is a linear layer with one bias for
    each of the 64 channels.

    >>> sum(p.numel() for p in Recurd0Decoder().build(8, (1, 64, 64)).parameters())
    247617
    >>> sum(p.numel() for p in Recurd0Decoder(first="linear").build(8, (1, 64, 64)).parameters())
    248577
    """

    hidden: Count | None = None
    "Size of the fully connected layer; left out: 128 for one channel, 256 for images with colour."
    first: Literal["transposed", "linear"] = "transposed"
    "The layer that opens the 4x4 map: as Table 10 counts it, or as Table 3 prints it."

    def build(self, width: int, shape: Shape) -> nn.Module:
        grid = grid_of(shape, "decoder=recurd0_decoder", "decoder=mlp_decoder")
        hidden = self.hidden or _hidden(shape)
        net = Deconv(hidden=(hidden,)).build(width, shape)
        if self.first == "linear":
            return net
        assert isinstance(net, nn.Sequential)
        fc, relu, _, relu_of_map, to_map, *upward = net
        assert isinstance(to_map, ToShape)
        opening = Upconv(hidden, to_map.shape[0], (grid.height, grid.width), stride=1, padding=0)
        return nn.Sequential(fc, relu, ToShape((hidden, 1, 1)), opening, relu_of_map, *upward)


def _hidden(shape: Shape) -> int:
    return 128 if shape[0] == 1 else 256


Module = tuple[int, tuple[int, ...]]
"""How many encoders, and the channels of each one's convolutions."""
MODULES: dict[str, dict[int, tuple[Module, ...]]] = {
    "total": {1: ((4, (8, 16)),), 2: ((2, (16,)), (4, (16,)))},
    "literal": {1: ((4, (32, 64)),), 2: ((2, (32,)), (4, (16,)))},
}
"""Tables 4 and 5 by reading and depth: every module but the last."""


class Recursive(Encoder):
    """Modules of a router and a group of encoders; the last group's encoders, the heads, give the latent's sites.

    m_j^{l+1} = Enc_j(sum_i w_ij^l m_i^l) (RecurD 2022, Eq. 6), the first module without a router. Depth 1 is Table 4:
    4 x [conv 8, conv 16], router, heads x [conv 16, FC 16, FC]; depth 2 is Table 5: 2 x conv 16, router, 4 x conv 16,
    router, heads x [conv 16, FC 16, FC]; all convolutions 4x4, stride 2. Where the tables print 4 x [conv 32, conv 64]
    and 2 x conv 32, this reads the width as the total over the group: so the multiplications of Table 10 come out
    within 7 % in each row with a MINE for every pair, and 76 % too high with the literal reading of RecurD-1. No
    reading fits every row (RecurD-2 without MINE: 9 % too many multiplications, 12 % too few parameters, with
    router=printed 4 % too many). The paper has 8 heads on dSprites and 3DShapes and 16 on CelebA, which the latent
    decides here, and prints no activation after FC 16; we use ReLU, for without one two linear layers are one.
    Images of any size from 8x8; depth 0 is the encoder `recurd0`.

    >>> net = Recursive().build((1, 64, 64), (2,) * 8)
    >>> sum(p.numel() for p in net.parameters())
    173200
    """

    depth: Literal[1, 2] = 1
    "How many modules have a router: Table 4 or Table 5."
    k: Count = 2
    "How many features each encoder reads: 1 to the number of encoders before it. The paper does not print its choice."
    router: Literal["similarity", "printed", "linear", "fixed", "attention", "none"] = "similarity"
    """Ours; Eq. 5 as printed, as far as its sizes allow; one of the paper's three ablations (Table 9); or none (ours):
    every encoder reads all features."""
    scaled: bool = True
    "Divide the similarity by the root of the features' length; the paper does not."
    hidden: Count = 16
    "Units of each head's fully connected layer."
    together: Count = 1
    "Sites each head gives; the paper has 2 on CelebA."
    reading: Literal["total", "literal"] = "total"
    "The width printed for a module before the heads: of all its encoders in sum, or of each."
    channels: Count = added(default=16)
    "Of each head's convolution; with channels=32 hidden=128 the heads are the split encoder's branches."

    def build(self, shape: Shape, widths: tuple[int, ...]) -> nn.Module:
        """Features: for l = 2, 3, ... `m<l>` is what the encoders before router l give, (B, encoders, C, H, W).

        `routed<l>` is what the encoders after it read.
        """
        modules = MODULES[self.reading][self.depth]
        depth = sum(len(channels) for _, channels in modules) + 1
        channels, height, width = image_shape(shape, depth, "encoder=recursive")
        counts = [count for count, _ in modules] + [branches_of(widths, self.together)]
        groups: list[nn.Module] = []
        routers: list[nn.Module] = []
        for i, ((count, sizes), following) in enumerate(zip(modules, counts[1:], strict=True)):
            groups.append(_group(count, (channels, *sizes), own=i > 0))
            height, width = height >> len(sizes), width >> len(sizes)
            routers.append(self._router((sizes[-1], height, width), count, following))
            whole = {"fixed": following, "none": 1}.get(self.router, count)
            channels = sizes[-1] * count // whole
        last = Branches(
            (channels, height, width),
            widths,
            channels=self.channels,
            hidden=self.hidden,
            together=self.together,
            own=True,
        )
        return _Recursion(counts, groups, routers, last)

    def _router(self, shape: Shape, inputs: int, outputs: int) -> nn.Module:
        match self.router:
            case "similarity":
                return Router(shape, inputs, outputs, self.k, self.scaled)
            case "printed":
                return PrintedRouter(shape, inputs, outputs, self.k, self.scaled)
            case "linear":
                return LinearRouter(shape, outputs)
            case "fixed":
                return FixedRouter(shape, inputs, outputs)
            case "attention":
                return AttentionRouter(shape, outputs)
            case "none":
                return NoRouter(outputs)


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
            features |= {f"m{i + 2}": m, f"routed{i + 2}": routed}
            x = routed.flatten(1, 2)
        return Encoded(self.last(x), features)


def _group(count: int, channels: tuple[int, ...], own: bool) -> nn.Sequential:
    """So many stacks of convolutions at once; without inputs of their own all read the same image."""
    if own:
        return nn.Sequential(*(GroupedConv(count, i, o) for i, o in pairwise(channels)))
    image, *inner = channels
    first = convolution(image, inner[0] * count)
    return nn.Sequential(first, *(convolution(i * count, o * count, count) for i, o in pairwise(inner)))
