"""log of a weighted mixture of posteriors, streamed: never R x B x D in memory at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from hatchel.trace import Partition, Posterior

LogWeights = Callable[[int, int, int, int], Tensor]
"""(row start, row stop, column start, column stop) -> log w of the columns for the rows, broadcastable to (R, B)."""

BUDGET = 2**22
"""Elements of the largest intermediate, (blocks + sites) x rows x columns: 16 MB in float32, of which a few live."""


def log_mixture(q: Posterior, z: Tensor, blocks: Partition, log_weights: LogWeights, budget: int = BUDGET) -> Tensor:
    """log sum_j w_ij q(z_i,block | x_j) for codes z (R, D) under the posteriors q of B inputs: (len(blocks), R).

    Rows and columns are taken in tiles; with gradient, a tile is recomputed in the backward pass rather than kept.
    """
    rows, columns = z.shape[0], q.mean.shape[0]
    cost = len(blocks) + len(q.sites)
    tile_columns = max(1, min(columns, budget // (cost * min(rows, 64))))
    tile_rows = max(1, min(rows, budget // (cost * tile_columns)))
    single = tile_rows >= rows and tile_columns >= columns
    recompute = torch.is_grad_enabled() and not single

    def tile(top: int, left: int) -> Tensor:
        bottom, right = min(rows, top + tile_rows), min(columns, left + tile_columns)

        def values() -> Tensor:
            part = q if single else q.rows(left, right)
            cross = part.cross_log_prob(z[top:bottom], blocks)
            return torch.logsumexp(cross + log_weights(top, bottom, left, right), 2)

        if not recompute:
            return values()
        result = checkpoint(values, use_reentrant=False, preserve_rng_state=False)
        assert isinstance(result, Tensor)
        return result

    bands: list[Tensor] = []
    for top in range(0, rows, tile_rows):
        band = [tile(top, left) for left in range(0, columns, tile_columns)]
        bands.append(band[0] if len(band) == 1 else torch.logsumexp(torch.stack(band), 0))
    return bands[0] if len(bands) == 1 else torch.cat(bands, 1)
