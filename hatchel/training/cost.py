"""Cost: how many parameters a run has, and how many multiplications a step of it makes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode

from hatchel.nets.part import Shape
from hatchel.objective.trace import Batch
from hatchel.training.spec import RunSpec

ITEMS = 2
"""The smallest batch that every estimator takes."""


class Cost(NamedTuple):
    """By part: encoder, decoder and objective (its critics)."""

    parameters: dict[str, int]
    macs: dict[str, int]
    """Multiply-accumulate operations of convolutions and matrix products, forward, for one item."""


def cost(spec: RunSpec, shape: Shape) -> Cost:
    """What training by this spec on items of this shape costs.

    The objective's part is what a step does beside encoding and decoding once: a critic counts twice, because it is
    read for the model and for itself. A learned latent or likelihood counts as the decoder's.
    """
    system = spec.build(shape)
    model = system.model
    x = torch.zeros(ITEMS, *shape)

    with torch.no_grad():
        with FlopCounterMode(display=False) as encoding:
            model.encoder(x)
        with FlopCounterMode(display=False) as decoding:
            model.decoder(torch.zeros(ITEMS, spec.latent.decoder_width))
        with FlopCounterMode(display=False) as all_of_it:
            system(Batch(x, 10_000, independent=x, labelled=(x, torch.arange(ITEMS)[:, None])))
    flops = [count.get_total_flops() for count in (encoding, decoding, all_of_it)]
    macs = (flops[0], flops[1], flops[2] - flops[0] - flops[1])
    sizes = [sum(p.numel() for p in part.parameters()) for part in (model.encoder, model, system.objective)]
    parameters = (sizes[0], sizes[1] - sizes[0], sizes[2])
    names = ("encoder", "decoder", "objective")
    return Cost(
        dict(zip(names, parameters, strict=True)),
        {name: count // (2 * ITEMS) for name, count in zip(names, macs, strict=True)},
    )
