"""The terms of the evidence lower bound: reconstruction and KL, whole or of some coordinates."""

from __future__ import annotations

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from hatchel.core.spec import Count
from hatchel.core.streams import scheduled
from hatchel.latents.layout import Block, Layout
from hatchel.latents.posterior import picked
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace


class Reconstruction(Term):
    """-log p(x|z), summed over pixels."""

    def symbol(self) -> str:
        return "-log p(x|z)"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        return -t.log_px


class KL(Term, kind="kl"):
    """KL(q(z|x) || p(z)) = I(x;z) + TC(z) + sum_d KL(q(z_d) || p(z_d)).

    In closed form where there is one, else the draw's own log q(z|x) - log p(z).
    """

    groups: tuple[str, ...] | None = None
    """Only these groups of the latent, by name, as JointVAE wants; all by default."""

    def symbol(self) -> str:
        z = "z" if self.groups is None else "z_" + ",".join(self.groups)
        return f"KL(q({z}|x)||p({z}))"

    def accepts(self, layout: Layout) -> str:
        missing = [name for name in self.groups or () if name not in layout.names]
        if not missing:
            return ""
        return (
            f"it has the groups {', '.join(layout.names)}, not {missing[0]}; leave `groups` out for all of them, or "
            "set latent=mixed with groups of these names"
        )

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        block = t.q.layout.whole
        if self.groups is not None:
            block = tuple(s for name in self.groups for s in t.q.layout.group(name))
        return _kl(t, block)


class RealKL(Term, kind="real_kl"):
    """KL(q(z|x) || p(z)) of the real coordinates alone, without the classes; of their layers, where there are any."""

    def symbol(self) -> str:
        return "KL(q(z_real|x)||p(z_real))"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        return _kl(t, t.q.layout.coordinates)


def _kl(t: Trace, block: Block) -> Tensor:
    closed = t.p.kl(t.q, t.z)
    if closed is not None:
        return picked(closed, block).sum(1)
    return t.q.log_prob(t.z, block) - t.p.log_prob(t.z, block)


class ClosedKL(Term, kind="closed_kl"):
    """sum_{d >= j(t)} KL(q(z_d|x) || p(z_d)), j(t) = first + floor(t / every) (Jeong & Song 2019, Eq. 4).

    low KL + (high - low) ClosedKL = low sum_{d < j} KL_d + high sum_{d >= j} KL_d: information cascades into one
    coordinate after the other. Discrete sites are never closed.
    """

    every: Count = 20_000
    """Steps of a stage: after each, one more coordinate opens."""
    first: Annotated[int, Ge(0)] = 1
    """Coordinates that are open from the start."""

    def opened(self, step: int) -> int:
        """j(t).

        >>> [ClosedKL(every=10, first=1).opened(step) for step in (0, 9, 10, 35)]
        [1, 1, 2, 4]
        """
        return self.first + step // self.every

    def symbol(self) -> str:
        return f"sum_(d>=j(t)) KL(q(z_d|x)||p(z_d)), j: {self.first} + 1 every {self.every} steps"

    def accepts(self, layout: Layout) -> str:
        if not layout.closed_kl:
            return (
                "its KL has no closed form by coordinate (discrete sites need discrete_kl=categorical, and the prior "
                "must not be learned); set latent=diagonal"
            )
        return ""

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        by_site, coordinates = t.p.kl(t.q, t.z), t.q.layout.coordinates
        assert by_site is not None
        opened = scheduled(self.opened, t.batch.step)
        if isinstance(opened, int):
            return picked(by_site, coordinates[opened:]).sum(1)
        # Compiled once for all stages: all coordinates, the open ones times 0.
        closed = torch.arange(len(coordinates), device=by_site.device) >= opened
        return (picked(by_site, coordinates) * closed).sum(1)
