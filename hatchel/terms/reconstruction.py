"""Reconstruction: how badly the decoder explains the data."""

from __future__ import annotations

from torch import Tensor

from hatchel.estimates import Estimates
from hatchel.terms.term import Term
from hatchel.trace import Trace


class Reconstruction(Term):
    """-log p(x|z), summed over pixels."""

    def symbol(self) -> str:
        """As in every VAE paper."""
        return "-log p(x|z)"

    def value(self, t: Trace, estimates: Estimates) -> Tensor:
        """From the trace."""
        return -t.log_px
