"""DCIMIG, also called 3CharM."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.information import gap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class DCIMIG(Metric):
    """The largest gap among the dimensions that each factor leads, over all entropy (Sepliarskaia et al. 2019).

    g_d = I(z_d; v_j) - max_{k != j} I(z_d; v_k),  j = argmax_k;  S_k = max g_d over the d that v_k leads (or 0);
    DCIMIG = sum_k S_k / sum_k H(v_k).

    >>> import numpy as np
    >>> from hatchel.metrics import dcimig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(dcimig(factors + 0.0, factors)), 6)
    1.0
    """

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        used = information[:, probe.varying]
        best = np.zeros(len(probe.varying))
        np.maximum.at(best, used.argmax(axis=1), gap(used.T))
        parts = probe.by_factor(best)
        return self.result(probe, best.sum() / probe.entropies[probe.varying].sum(), parts=parts, matrix=information)
