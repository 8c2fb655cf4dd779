"""MIG-sup: the gap taken over factors."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.information import gap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class MIGSup(Metric):
    """Mean over dimensions of the gap between the two factors it informs about most (Li et al. 2020).

    MIG-sup = 1/D sum_d (I_n(z_d; v_j) - max_{k != j} I_n(z_d; v_k)),  I_n = I / H(v_k),  j = argmax_k I_n(z_d; v_k)

    >>> import numpy as np
    >>> from hatchel.metrics import mig_sup
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(mig_sup(factors + 0.0, factors)), 6)
    1.0
    """

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        normalised = information[:, probe.varying] / probe.entropies[probe.varying]
        gaps = gap(normalised.T)
        parts = {f"z{d}": float(g) for d, g in enumerate(gaps)}
        return self.result(probe, gaps.mean(), parts=parts, matrix=information)
