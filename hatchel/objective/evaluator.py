"""Evaluator: what the terms of one step ask of their estimators, each answered once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Samples:
    """What a critic compares: draws of the joint, and the rows whose parts, permuted apart, are the product's."""

    joint: Tensor  # (B, ...): this rank's
    source: Tensor  # (B', ...): all ranks'; of items, this rank's, and nothing is permuted
    widths: tuple[int, ...] = ()
    """Columns of each part."""

    def product(self, seed: int, step: int, draw: int = 0) -> Tensor:
        """This rank's draws of the product: every part permuted independently over all ranks' rows."""
        if not self.widths:
            return self.source
        source, stream = self.source, f"permute {draw}" if draw else "permute"
        draws = torch.rand(len(self.widths), source.shape[0], generator=generator(seed, stream, step))
        order = own_rows(draws.argsort(1).T)  # (B, parts)
        if len(self.widths) == 2:  # whole rows of wide features, rather than an index for each of their numbers
            parts = zip(source.split(self.widths, 1), order.to(source.device).T, strict=True)
            return torch.cat([part[o] for part, o in parts], 1)
        return source.gather(0, order.repeat_interleave(torch.tensor(self.widths), 1).to(source.device))

    def detached(self) -> Samples:
        return Samples(self.joint.detach(), self.source.detach(), self.widths)


class Evaluator:
    """A memo over one trace: the densities are computed for all wanted blocks in one pass, a critic is read once."""

    def __init__(
        self,
        t: Trace,
        wanted: Mapping[Estimator, Partition],
        critics: Mapping[CriticKey, CriticModule],
        taught: Collection[CriticKey] = (),
    ) -> None:
        """`taught`: the critics whose losses will be asked for too, so that one pass may give both."""
        self._trace = t
        self._wanted = wanted
        self._critics = critics
        self._log_q: dict[Density, dict[Block, Tensor]] = {}
        self._log_products: dict[tuple[Density, Partition], Tensor] = {}
        self._ratios: dict[CriticKey, Tensor] = {}
        self._layers: dict[tuple[str, int | None, bool, int], Tensor] = {}
        self._samples: dict[CriticKey, tuple[Samples, Tensor]] = {}
        self._taught = taught
        self._losses: dict[CriticKey, Tensor] = {}

    def log_q(self, by: Density, block: Block) -> Tensor:
        """log q(z_block) at this rank's codes: (B,)."""
        known = self._log_q.setdefault(by, {})
        if block not in known:
            blocks = tuple(dict.fromkeys((*self._wanted.get(by, ()), block)))
            known.update(zip(blocks, by.log_q(self._trace, blocks), strict=True))
        return known[block]

    def log_product(self, by: Density, partition: Partition) -> Tensor:
        """log prod_b q(z_b) over the blocks of a partition: (B,)."""
        key = (by, partition)
        if key not in self._log_products:
            self._log_products[key] = torch.stack([self.log_q(by, b) for b in partition]).sum(0)
        return self._log_products[key]

    def log_ratio(self, by: Estimator, compared: Compared) -> Tensor:
        """log q(z) - sum_b log q(z_b) over the blocks b of a partition: (B,), or a scalar of the whole batch.

        For pairs, the sum of their mutual informations; for items, log p(generated) - log p(data) at generated ones.
        """
        if isinstance(by, Density):
            assert not isinstance(compared, Pairs | Items)
            partition = compared
            union = tuple(s for block in partition for s in block)
            return self.log_q(by, union) - self.log_product(by, partition)
        assert isinstance(by, Critic)
        key = (by, compared)
        if key not in self._ratios:
            self._ratios[key] = self._read(by, compared)
        return self._ratios[key]

    def critic_losses(self, inactive: Collection[CriticKey] = ()) -> dict[CriticKey, Tensor]:
        """What each critic that was read minimises: no gradient can leak into the encoder."""
        return {key: self.critic_loss(*key) for key in self._samples if key not in inactive}

    def compared(self, inactive: Collection[CriticKey] = ()) -> dict[CriticKey, tuple[Samples, Tensor]]:
        """What each critic was shown and what it read, without gradient."""
        kept = [key for key in self._ratios if key not in inactive]
        return {key: (self._samples[key][0].detached(), self._ratios[key].detach()) for key in kept}

    def critic_loss(self, by: Critic, compared: Compared) -> Tensor:
        """What one critic minimises, on detached samples."""
        if (by, compared) in self._losses:
            return self._losses[by, compared]
        samples, product = self._sampled(by, compared)
        return self._critics[by, compared].loss(samples.joint.detach(), product.detach())

    def _read(self, by: Critic, compared: Compared) -> Tensor:
        module = self._critics[by, compared]
        samples, product = self._sampled(by, compared)
        if (by, compared) in self._taught and (both := module.both(samples.joint, product)) is not None:
            result, self._losses[by, compared] = both
            return result
        # Detached copies of the critic's parameters: the model's loss cannot teach the critic.
        frozen = {name: p.detach() for name, p in module.named_parameters()}
        result = functional_call(module, frozen, (samples.joint, product))
        assert isinstance(result, Tensor)
        return result

    def _sampled(self, by: Critic, compared: Compared) -> tuple[Samples, Tensor]:
        """The samples and the product's draws of them, had once."""
        key, batch = (by, compared), self._trace.batch
        if key not in self._samples:
            items = isinstance(compared, Items)
            samples = Samples(self._trace.generated.x, batch.x) if items else self._joint(by, compared)
            self._samples[key] = samples, samples.product(batch.seed, batch.step)
            self._critics[key].begin(batch.seed, batch.step)
        return self._samples[key]

    def _joint(self, by: Critic, compared: Partition | Pairs) -> Samples:
        t = self._trace
        if isinstance(compared, Pairs):
            parts = [self._members(compared, name) for name in (compared.left, compared.right)]
            joint, widths = torch.cat(parts, 1), tuple(part.shape[1] for part in parts)
            return Samples(joint, gather(joint), widths)
        columns = t.q.layout.columns(tuple(s for block in compared for s in block))
        joint = t.z[:, columns]
        source = gather(joint) if by.differentiates_product else by.product_source(t)[:, columns]
        return Samples(joint, source, tuple(len(t.q.layout.columns(block)) for block in compared))

    def _members(self, pairs: Pairs, name: str) -> Tensor:
        # Once for all terms, so that the backward pass spreads a map's gradient over space once.
        key = (name, pairs.grid, pairs.standardised, pairs.together)
        if key not in self._layers:
            t = self._trace
            self._layers[key] = pairs.members(name, t.q.layout, t.z, t.features).flatten(1)
        return self._layers[key]
