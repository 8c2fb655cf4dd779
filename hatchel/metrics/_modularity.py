"""Modularity."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Modularity(Metric):
    """How far each dimension is from informing about one factor only (Ridgeway & Mozer 2018, Sec. 3).

    m_d = 1 - sum_{k != k*} I(z_d; v_k)^2 / (I(z_d; v_k*)^2 (K - 1)),  k* = argmax_k I(z_d; v_k);  the mean over d.

    >>> import numpy as np
    >>> from hatchel.metrics import modularity
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(modularity(factors + 0.0, factors))
    1.0
    """

    bins: Count = 20
    "Equal-width bins per dimension."
    empty: Literal["zero", "left out"] = "zero"
    "A dimension without any information: counted 0, as the reference does, or left out of the mean."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        squares = information[:, probe.varying] ** 2
        largest = squares.max(axis=1)
        informed = largest > 0
        rivals = max(len(probe.varying) - 1, 1)
        safe = np.where(informed, largest, 1.0)
        scores = np.where(informed, 1 - (squares.sum(axis=1) - largest) / (safe * rivals), 0.0)
        kept = np.ones_like(informed) if self.empty == "zero" or not informed.any() else informed
        parts = {f"z{d}": float(scores[d]) for d in np.flatnonzero(kept)}
        return self.result(probe, scores[kept].mean(), parts=parts, matrix=information)
