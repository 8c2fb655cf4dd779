"""RMIG: the robust mutual information gap."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.aggregate import DRAWS, POSTERIORS, Aggregate
from hatchel.metrics.information import gap
from hatchel.metrics.intervals import Bootstrap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class RMIG(Metric):
    """The gap between the two most informative dimensions, with I(z_d; v_k) from q(z|x) itself (Do & Tran 2020).

    RMIG_k = I(z_i; v_k) - I(z_j; v_k) in nats (the parts); the value is the mean of RMIG_k / H(v_k).

    >>> import numpy as np
    >>> from hatchel.metrics import rmig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> score = rmig(9.0 * factors, factors, std=np.ones((36, 2)))  # values that can be told apart
    >>> 0.95 < score.value < 1
    True
    """

    needs = ("factors", "std")
    interval = Bootstrap(most=8)

    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        matrix = q.information(probe)
        gaps = gap(matrix)[probe.varying]
        parts = probe.by_factor(gaps)
        value = (gaps / probe.entropies[probe.varying]).mean()
        return self.result(probe, value, parts=parts, matrix=matrix, notes=q.notes)
