"""Adversarial: how easily generated items are told from the data's."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor
from torch.nn import functional as F

from hatchel.estimates import Estimates
from hatchel.estimators.discriminator import Discriminator
from hatchel.estimators.estimator import Critic
from hatchel.estimators.items import Items
from hatchel.terms.term import Term
from hatchel.trace import Trace


class Adversarial(Term):
    """-log D(G(n, c)), D the chance that an item is the data's (Goodfellow et al. 2014, Eq. 1 and Sec. 3).

    The discriminator learns beside the generator, from detached items, at every step.
    """

    wants_generated: ClassVar[bool] = True

    critic: Critic = Discriminator()
    """Tells generated items from the data's."""
    form: Literal["non_saturating", "minimax"] = "non_saturating"
    """-log D, whose gradient does not fade where D is sure; or log(1 - D), the game's own value."""

    @property
    def estimator(self) -> Critic:
        """The critic."""
        return self.critic

    def symbol(self) -> str:
        """As in the paper."""
        return "-log D(G(n,c))" if self.form == "non_saturating" else "log(1 - D(G(n,c)))"

    def items(self) -> tuple[Items, ...]:
        """Generated against data."""
        return (Items(),)

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Per generated item."""
        logit = estimates.log_ratio(self.critic, Items())
        return F.softplus(logit) if self.form == "non_saturating" else -F.softplus(-logit)
