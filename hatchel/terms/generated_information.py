"""GeneratedInformation: what generated items keep of the code they were made from."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from hatchel.errors import HatchelError
from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import Trace


class GeneratedInformation(Term):
    """L_I = E log Q(c|G(n, c)) + H(c) <= I(c; G(n, c)), Q the encoder (Chen et al. 2016, Eq. 5). To be rewarded."""

    wants_generated: ClassVar[bool] = True

    def symbol(self) -> str:
        """As in the paper."""
        return "I(c;G(n,c))"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """Per generated item."""
        if t.generated is None:
            raise HatchelError("generated_information needs generated items: set latent=code_noise")
        return t.generated.q.code_log_prob(t.generated.code) + t.generated.entropy
