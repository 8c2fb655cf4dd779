"""Evaluator: what the terms of one step ask of their estimators, each answered once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor
from torch.func import functional_call

from hatchel.core.distributed import gather, own_rows
from hatchel.core.streams import generator
from hatchel.latents.layout import Block, Partition
from hatchel.objective.estimators.estimator import Critic, CriticModule, Density, Estimator, Items, Pairs
from hatchel.objective.trace import Trace

Compared = Partition | Pairs | Items
"""What a critic tells apart: the joint of a partition's blocks, or of two layers' members, from their product; or
generated items from the data's."""
CriticKey = tuple[Critic, Compared]


class Evaluator:
    """A memo over one trace: the densities are computed for all wanted blocks in one pass, a critic is read once."""

    def __init__(
        self, t: Trace, wanted: Mapping[Estimator, Partition], critics: Mapping[CriticKey, CriticModule]
    ) -> None:
        self._trace = t
        self._wanted = wanted
        self._critics = critics
        self._log_q: dict[tuple[Density, Block], Tensor] = {}
        self._ratios: dict[CriticKey, Tensor] = {}
        self._layers: dict[tuple[str, int | None, bool, int], Tensor] = {}
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

    def critic_losses(self, inactive: Collection[CriticKey] = ()) -> dict[CriticKey, Tensor]:
        """What each critic that was read minimises: no gradient can leak into the encoder."""
        return {key: self.critic_loss(*key) for key in self._samples if key not in inactive}

    def critic_loss(self, by: Critic, compared: Compared) -> Tensor:
        """What one critic minimises, on detached samples."""
        joint, product = self._sampled(by, compared)
        return self._critics[by, compared].loss(joint.detach(), product.detach())

    def _read(self, by: Critic, compared: Compared) -> Tensor:
        module = self._critics[by, compared]
        # Detached copies of the critic's parameters: the model's loss cannot teach the critic.
        frozen = {name: p.detach() for name, p in module.named_parameters()}
        result = functional_call(module, frozen, self._sampled(by, compared))
        assert isinstance(result, Tensor)
        return result

    def _sampled(self, by: Critic, compared: Compared) -> tuple[Tensor, Tensor]:
        """The joint's samples and the product's, drawn once."""
        key = (by, compared)
        if key not in self._samples:
            self._samples[key] = self._items() if isinstance(compared, Items) else self._joint(by, compared)
        return self._samples[key]

    def _items(self) -> tuple[Tensor, Tensor]:
        return self._trace.generated.x, self._trace.batch.x

    def _joint(self, by: Critic, compared: Partition | Pairs) -> tuple[Tensor, Tensor]:
        """The joint's samples, and the product's."""
        t = self._trace
        if isinstance(compared, Pairs):
            parts = [self._members(compared, name) for name in (compared.left, compared.right)]
            joint, widths = torch.cat(parts, 1), [part.shape[1] for part in parts]
            source = joint
        else:
            union = tuple(s for block in compared for s in block)
            columns = t.q.layout.columns(union)
            joint, source = t.z[:, columns], by.product_source(t)[:, columns]
            widths = [len(t.q.layout.columns(block)) for block in compared]
        return joint, self._product(gather(joint) if by.differentiates_product else source, widths)

    def _members(self, pairs: Pairs, name: str) -> Tensor:
        # Once for all terms, so that the backward pass spreads a map's gradient over space once.
        key = (name, pairs.grid, pairs.standardised, pairs.together)
        if key not in self._layers:
            t = self._trace
            self._layers[key] = pairs.members(name, t.q.layout, t.z, t.features).flatten(1)
        return self._layers[key]

    def _product(self, source: Tensor, widths: list[int]) -> Tensor:
        """Every part permuted independently over the batch of all ranks; this rank's rows of the result."""
        t, rows = self._trace, source.shape[0]
        draws = torch.rand(len(widths), rows, generator=generator(t.batch.seed, "permute", t.batch.step))
        order = own_rows(draws.argsort(1).T).to(source.device)  # (B, parts)
        if len(widths) == 2:  # whole rows of wide features, rather than an index for each of their numbers
            return torch.cat([part[o] for part, o in zip(source.split(widths, 1), order.T, strict=True)], 1)
        return source.gather(0, order.repeat_interleave(torch.tensor(widths, device=order.device), 1))
