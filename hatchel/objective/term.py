"""The family of terms: pure quantities of a trace, in nats, averaged over the batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor

from hatchel.core.spec import Spec
from hatchel.latents.layout import Layout, Partition
from hatchel.objective.estimators.estimator import Estimator, Items, Pairs
from hatchel.objective.trace import Trace

if TYPE_CHECKING:
    from hatchel.objective.evaluator import Evaluator
    from hatchel.objective.objective import Weighted
    from hatchel.objective.weights import Weight


class Term(Spec, ABC, family="term", home="hatchel.objective.terms"):
    """One named quantity. `3.0 * Term()` is a weighted term."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """What it reads of a trace beside the batch itself: `labelled`, `generated`."""

    @abstractmethod
    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        """Per row of this rank, (B,), or a scalar of the whole batch."""

    @abstractmethod
    def symbol(self) -> str:
        """The term as it is written in a formula."""

    def blocks(self, layout: Layout) -> Partition:
        """The blocks whose log q(z_block) it reads, so that one pass serves all terms."""
        return ()

    def partitions(self, layout: Layout) -> tuple[Partition, ...]:
        """The partitions over which it compares a joint with a product; a critic gets a network for each."""
        return ()

    def pairs(self) -> tuple[Pairs, ...]:
        """The pairs of features that it compares; a critic gets a network for each kind."""
        return ()

    def items(self) -> tuple[Items, ...]:
        """Whether it compares generated items with the data's; a critic gets a network for that."""
        return ()

    def accepts(self, layout: Layout) -> str:
        """Why this latent cannot carry the term; empty where it can."""
        return ""

    @property
    def estimator(self) -> Estimator | None:
        """The estimator it reads, if any: by convention the field `by`."""
        return getattr(self, "by", None)

    def __rmul__(self, weight: float | Weight) -> Weighted:
        """`weight * term`, as in the papers."""
        from hatchel.objective.objective import Weighted

        return Weighted(self, weight)  # pyright: ignore[reportArgumentType]
