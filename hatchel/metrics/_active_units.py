"""Active units: how many dimensions are used."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import NonNegative
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class ActiveUnits(Metric):
    """The number of dimensions with Var_x(mu_d(x)) > 0.01 (Burda et al. 2016).

    >>> import numpy as np
    >>> from hatchel.metrics import active_units
    >>> float(active_units(np.array([[0.0, 1.0], [0.0, -1.0]])))
    1.0
    """

    needs = ()

    threshold: NonNegative = 0.01
    "Variance of the posterior mean over the data."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        variances = probe.codes.var(axis=0)
        parts = {"variance": {f"z{d}": float(v) for d, v in enumerate(variances)}}
        return self.result(probe, float((variances > self.threshold).sum()), parts=parts)
