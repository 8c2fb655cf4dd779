"""Top-k MED, for high-dimensional codes."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics._med import information_shares, most_disentangled
from hatchel.metrics.information import weighted_concentration
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class MEDTopk(Metric):
    """MED over at most k dimensions per factor: the most disentangled of those it leads (Cao et al. 2022).

    The importances are MED's over all dimensions; only then are the others left out.

    >>> import numpy as np
    >>> from hatchel.metrics import med_topk
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> score = med_topk(np.c_[factors, factors[:, 0]], factors, k=1)
    >>> float(score), score.parts["dimensions"]
    (1.0, 2)
    """

    k: Count = 2
    "Dimensions kept for each factor."
    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        importance = information_shares(probe, self.bins)
        kept = most_disentangled(importance[:, probe.varying], self.k)
        parts = {"completeness": weighted_concentration(kept.T), "dimensions": len(kept)}
        return self.result(probe, weighted_concentration(kept), parts=parts, matrix=importance)
