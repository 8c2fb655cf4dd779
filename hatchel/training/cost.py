"""Cost: how many parameters a run has, and how many multiplications a step of it makes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from hatchel.nets.group import GroupedConv, GroupedLinear
from hatchel.nets.layers import Upconv
from hatchel.nets.part import Shape
from hatchel.objective.estimators.mine import PairNet
from hatchel.objective.trace import Batch
from hatchel.training.spec import RunSpec

ITEMS = 2
"""The smallest batch that every estimator takes."""
THOP_ITEMS = 64
"""The batch for which Chen et al. 2022, Table 10, was counted: the baselines' printed digits come out with this one."""


class Cost(NamedTuple):
    """By part: encoder, decoder and objective (its critics)."""

    parameters: dict[str, int]
    macs: dict[str, int]
    """Multiply-accumulate operations of convolutions and matrix products, forward, for one item."""
    thop: dict[str, int]
    """The same as the package thop counts them, for a batch of 64: see `thop_macs`."""


def cost(spec: RunSpec, shape: Shape) -> Cost:
    """What training by this spec on items of this shape costs.

    The objective's part is what a step does beside encoding and decoding once: a critic counts twice, because it is
    read for the model and for itself; thop's counts have the first of these alone. A learned latent or likelihood
    counts as the decoder's.
    """
    system = spec.build(shape)
    model = system.model
    x = torch.zeros(ITEMS, *shape)

    with torch.no_grad():
        with FlopCounterMode(display=False) as encoding, _counted_by_thop(model.encoder) as thop_encoding:
            model.encoder(x)
        with FlopCounterMode(display=False) as decoding, _counted_by_thop(model.decoder) as thop_decoding:
            model.decoder(torch.zeros(ITEMS, spec.latent.decoder_width))
        with FlopCounterMode(display=False) as all_of_it, _counted_by_thop(system.objective, detached=True) as critics:
            system(Batch(x, 10_000, independent=x, labelled=(x, torch.arange(ITEMS)[:, None])))
    flops = [count.get_total_flops() for count in (encoding, decoding, all_of_it)]
    macs = (flops[0], flops[1], flops[2] - flops[0] - flops[1])
    sizes = [sum(p.numel() for p in part.parameters()) for part in (model.encoder, model, system.objective)]
    parameters = (sizes[0], sizes[1] - sizes[0], sizes[2])
    names = ("encoder", "decoder", "objective")
    thop = (thop_encoding, thop_decoding, critics)
    return Cost(
        dict(zip(names, parameters, strict=True)),
        {name: count // (2 * ITEMS) for name, count in zip(names, macs, strict=True)},
        {name: sum(counts) * THOP_ITEMS // ITEMS for name, counts in zip(names, thop, strict=True)},
    )


def thop_macs(module: nn.Module, output: Tensor) -> int:
    """What thop (pytorch-OpCounter), by which papers state MACs, counts for one call of a layer.

    A convolution's bias is one more operation for every number of its output, a linear layer's is none; a transposed
    convolution is counted as if every number of its larger output had seen the whole kernel, stride or not; what is
    not a layer, a router's products for one, counts nothing. Grouped layers count as the single ones would.
    """
    match module:
        case nn.Conv2d():
            each = module.weight[0].numel() + (module.bias is not None)
        case Upconv():
            kernels = module.kernels
            each = kernels.weight[:, 0].numel() + (kernels.bias is not None)
        case GroupedConv():
            each = module.weight.shape[2] + 1
        case nn.Linear():
            each = module.in_features
        case GroupedLinear():
            each = module.weight.shape[1]
        case PairNet():  # the first layer, on both members of every pair; the others are grouped linear layers
            each = sum(width for _, width in module.layers) * module.identity.shape[2]
        case _:
            each = 0
    return output.numel() * each


@contextmanager
def _counted_by_thop(root: nn.Module, detached: bool = False) -> Generator[list[int]]:
    """The counts of all layers of a module that run, or of those alone that run with detached parameters.

    So the model reads a critic, unlike the critic's own loss.
    """
    counts: list[int] = []

    def count(module: nn.Module, _: Any, output: Any) -> None:
        if isinstance(output, Tensor) and not (detached and any(p.requires_grad for p in module.parameters())):
            counts.append(thop_macs(module, output))

    hooks = [layer.register_forward_hook(count) for layer in root.modules()]
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()
