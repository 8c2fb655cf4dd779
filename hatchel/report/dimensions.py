"""Dimensions: what each coordinate of the code carries, follows and ranges over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe

ACTIVE = 0.05
"""Nats: a dimension with less I(x; z_d) is drowned in its own noise, whatever its mean still knows."""
FOLLOWS = 0.1
"""The least share of a factor's entropy that a dimension must carry to be named after it."""
RANGE = (0.02, 0.98)
"""Quantiles of the posterior means between which a dimension is traversed: beyond lie codes the decoder hardly saw."""


@dataclass(frozen=True)
class Dimensions:
    """The coordinates of a code, with everything a page says about each."""

    information: Float  # (D,)  I(x; z_d) in nats
    low: Float  # (D,)  lower end of the traversal
    high: Float  # (D,)
    shares: Float | None = None  # (D, K)  I(z_d; v_k) / H(v_k); NaN for a factor that does not vary
    factors: tuple[str, ...] = ()

    @classmethod
    def of(cls, probe: Probe, information: Float) -> Dimensions:
        """From codes and, where they are known, factors."""
        low, high = np.quantile(probe.codes, RANGE, axis=0)
        if probe.values is None:
            return cls(information, low, high)
        entropies = np.where(probe.entropies > 0, probe.entropies, np.nan)
        return cls(information, low, high, probe.mutual_information() / entropies, probe.names)

    @property
    def order(self) -> NDArray[np.int64]:
        """Dimension numbers, the most informative first.

        >>> Dimensions(np.array([0.1, 2.0, 0.7]), np.zeros(3), np.ones(3)).order
        array([1, 2, 0])
        """
        return np.argsort(-self.information, kind="stable").astype(np.int64)

    @property
    def active(self) -> NDArray[np.int64]:
        """Those in the order that say anything about the input."""
        return self.order[self.information[self.order] >= ACTIVE]

    def follows(self, d: int) -> str | None:
        """The factor of whose entropy an active dimension d carries the largest share, if that is worth a name.

        >>> shares = np.array([[0.02, 0.9], [0.04, 0.03]])
        >>> two = Dimensions(np.ones(2), np.zeros(2), np.ones(2), shares, ("x", "y"))
        >>> two.follows(0), two.follows(1)
        ('y', None)
        """
        if self.shares is None or d not in self.active or np.isnan(self.shares[d]).all():
            return None
        best = int(np.nanargmax(self.shares[d]))
        return self.factors[best] if self.shares[d, best] >= FOLLOWS else None

    def label(self, d: int) -> str:
        """`z3 · pos_x`, or `z3`."""
        factor = self.follows(d)
        return f"z{d} · {factor}" if factor else f"z{d}"
