"""Terms of items generated from codes of the prior: InfoGAN's."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor
from torch.nn import functional as F

from hatchel.objective.estimators.discriminator import Discriminator
from hatchel.objective.estimators.estimator import Critic, Items
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace


class Adversarial(Term):
    """-log D(G(n, c)), D the chance that an item is the data's (Goodfellow et al. 2014, Eq. 1 and Sec. 3).

    The discriminator learns beside the generator, from detached items, at every step.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generated"})

    critic: Critic = Discriminator()
    """Tells generated items from the data's."""
    form: Literal["non_saturating", "minimax"] = "non_saturating"
    """-log D, whose gradient does not fade where D is sure; or log(1 - D), the game's own value."""

    @property
    def estimator(self) -> Critic:
        return self.critic

    def symbol(self) -> str:
        return "-log D(G(n,c))" if self.form == "non_saturating" else "log(1 - D(G(n,c)))"

    def items(self) -> tuple[Items, ...]:
        return (Items(),)

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        logit = evaluator.log_ratio(self.critic, Items())
        return F.softplus(logit) if self.form == "non_saturating" else -F.softplus(-logit)


class GeneratedInformation(Term):
    """L_I = E log Q(c|G(n, c)) + H(c) <= I(c; G(n, c)), Q the encoder (Chen et al. 2016, Eq. 5). To be rewarded."""

    needs: ClassVar[frozenset[str]] = frozenset({"generated"})

    def symbol(self) -> str:
        return "I(c;G(n,c))"

    def value(self, t: Trace, evaluator: Evaluator) -> Tensor:
        return t.generated.q.code_log_prob(t.generated.code) + t.generated.entropy
