"""JEMMIG: the joint entropy minus the mutual information gap."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics import information
from hatchel.metrics.aggregate import Aggregate
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class JEMMIG(Metric):
    """JEMMIG_k = H(z_i, v_k) - I(z_i; v_k) + I(z_j; v_k), i and j the two most informative (Do & Tran 2020).

    Mean over factors, in nats; lower is better. `normalised` is 1 - JEMMIG_k / (H(v_k) + log bins), from 0 to 1, higher
    is better; parts hold both.

    >>> import numpy as np
    >>> from hatchel.metrics import jemmig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(jemmig(factors + 0.0, factors)), 6)  # the two are one and the same: H - H
    0.0
    """

    also_needs = {("estimator", "aggregate"): "std"}  # noqa: RUF012
    lower_is_better = True

    bins: Count = 20
    "Equal-width bins per dimension."
    estimator: Literal["bins", "aggregate"] = "bins"
    "Entropies of binned codes, or differential entropies by Monte Carlo over q(z|x), which cannot be normalised."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        used = probe.varying
        if self.estimator == "bins":
            matrix = probe.mutual_information(self.bins)
            codes = information.entropies(probe.binned(self.bins))
        else:
            q = Aggregate.of(probe, rng)
            matrix, codes = q.information(probe), -q.marginals.mean(axis=1)
        best = matrix.argmax(axis=0)
        joint = codes[best] + probe.entropies - matrix.max(axis=0)
        values = (joint - information.gap(matrix))[used]
        parts: dict[str, Any] = probe.by_factor(values)
        if self.estimator == "bins":
            parts["normalised"] = float((1 - values / (probe.entropies[used] + np.log(self.bins))).mean())
        return self.result(probe, values.mean(), parts=parts, matrix=matrix)
