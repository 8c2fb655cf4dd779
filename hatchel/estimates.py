"""Estimates: what the terms of one step ask of their estimators, each answered once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor
from torch.func import functional_call

from hatchel.distributed import gather, own_rows
from hatchel.estimators.estimator import Critic, CriticModule, Density, Estimator
from hatchel.estimators.items import Items
from hatchel.estimators.pairs import Pairs
from hatchel.streams import generator
from hatchel.trace import Block, Partition, Trace

Compared = Partition | Pairs | Items
"""What a critic tells apart: the joint of a partition's blocks, or of two layers' members, from their product; or
generated items from the data's."""
CriticKey = tuple[Critic, Compared]


class Estimates:
    """A memo over one trace: the densities are computed for all wanted blocks in one pass, a critic is read once."""

    def __init__(
        self, t: Trace, wanted: Mapping[Estimator, Partition], critics: Mapping[CriticKey, CriticModule]
    ) -> None:
        self._trace = t
        self._wanted = wanted
        self._critics = critics
        self._log_q: dict[tuple[Density, Block], Tensor] = {}
        self._ratios: dict[CriticKey, Tensor] = {}
        self._layers: dict[tuple[str, bool, int], Tensor] = {}
        self._samples: dict[CriticKey, tuple[Tensor, Tensor]] = {}

    def log_q(self, by: Density, block: Block) -> Tensor:
        """log q(z_block) at this rank's codes: (B,)."""
        if (by, block) not in self._log_q:
            blocks = tuple(dict.fromkeys((*self._wanted.get(by, ()), block)))
            for known, row in zip(blocks, by.log_q(self._trace, blocks), strict=True):
                self._log_q[by, known] = row
        return self._log_q[by, block]

    def log_ratio(self, by: Estimator, compared: Compared) -> Tensor:
        """log q(z) - sum_b log q(z_b) over the blocks b of a partition: (B,), or a scalar of the whole batch.

        For pairs, the sum of their mutual informations; for items, log p(generated) - log p(data) at generated ones.
        """
        if isinstance(by, Density):
            assert not isinstance(compared, Pairs | Items)
            partition = compared
            union = tuple(s for block in partition for s in block)
            return self.log_q(by, union) - torch.stack([self.log_q(by, b) for b in partition]).sum(0)
        assert isinstance(by, Critic)
        key = (by, compared)
        if key not in self._ratios:
            self._ratios[key] = self._read(by, compared)
        return self._ratios[key]

    def critic_losses(self, resting: Collection[CriticKey] = ()) -> dict[CriticKey, Tensor]:
        """What each critic that was read minimises, on detached samples: no gradient can leak into the encoder."""
        return {
            key: self._critics[key].loss(joint.detach(), product.detach())
            for key, (joint, product) in self._samples.items()
            if key not in resting
        }

    def _read(self, by: Critic, compared: Compared) -> Tensor:
        module = self._critics[by, compared]
        joint, product = self._items() if isinstance(compared, Items) else self._joint(by, compared)
        self._samples[by, compared] = (joint, product)
        # Detached copies of the critic's parameters: the model's loss cannot teach the critic.
        frozen = {name: p.detach() for name, p in module.named_parameters()}
        result = functional_call(module, frozen, (joint, product))
        assert isinstance(result, Tensor)
        return result

    def _items(self) -> tuple[Tensor, Tensor]:
        assert self._trace.generated is not None
        return self._trace.generated.x, self._trace.x

    def _joint(self, by: Critic, compared: Partition | Pairs) -> tuple[Tensor, Tensor]:
        """The joint's samples, and the product's."""
        parts = self._parts(self._trace.z, compared)
        if by.differentiates_product:
            source = [gather(part) for part in parts]
        else:
            source = self._parts(by.product_source(self._trace), compared)
        return torch.cat(parts, 1), self._product(source)

    def _parts(self, z: Tensor, compared: Partition | Pairs) -> list[Tensor]:
        """What is joined, and permuted to give the product: (rows, width) each."""
        t = self._trace
        if isinstance(compared, Pairs):
            return [self._members(compared, name) for name in (compared.left, compared.right)]
        return [t.q.columns(z, block) for block in compared]

    def _members(self, pairs: Pairs, name: str) -> Tensor:
        # Once for all terms, so that the backward pass spreads a map's gradient over space once.
        key = (name, pairs.pooled, pairs.together)
        if key not in self._layers:
            t = self._trace
            self._layers[key] = pairs.members(name, t.q, t.z, t.features).flatten(1)
        return self._layers[key]

    def _product(self, parts: list[Tensor]) -> Tensor:
        """Every part permuted independently over the batch of all ranks; this rank's rows of the result."""
        t, rows = self._trace, parts[0].shape[0]
        draws = torch.rand(len(parts), rows, generator=generator(t.seed, "permute", t.step))
        order = draws.argsort(1).to(parts[0].device)
        return torch.cat([own_rows(part[o]) for part, o in zip(parts, order, strict=True)], 1)
