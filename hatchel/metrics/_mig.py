"""MIG: the mutual information gap."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count
from hatchel.metrics.aggregate import Aggregate
from hatchel.metrics.information import gap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class MIG(Metric):
    """Mean over factors of the gap between the two most informative dimensions (Chen et al. 2018, Eq. 6).

    MIG = 1/K sum_k (I(z_j; v_k) - max_{d != j} I(z_d; v_k)) / H(v_k),  j = argmax_d I(z_d; v_k)

    >>> import numpy as np
    >>> from hatchel.metrics import mig
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> round(float(mig(factors + 0.0, factors)), 2)
    1.0
    """

    also_needs = {("estimator", "aggregate"): "std"}  # noqa: RUF012
    argument_names = {"factors": "subset"}  # noqa: RUF012

    bins: Count = 20
    "Equal-width bins per dimension."
    factors: tuple[str, ...] | None = None
    "Names of the factors to average over; all that vary by default. Chen et al. leave out shape."
    estimator: Literal["bins", "aggregate"] = "bins"
    "I from binned codes, or by Monte Carlo over the exact aggregate posterior (Chen et al. 2018)."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        if self.estimator == "bins":
            information = probe.mutual_information(self.bins)
        else:
            information = Aggregate.of(probe, rng).information(probe)
        for name in self.factors or ():
            if name not in probe.names:
                raise unknown("factor", name, probe.names, where="mig")
        used = [k for k in probe.varying if self.factors is None or probe.names[k] in self.factors]
        if not used:
            raise HatchelError(f"mig: none of {', '.join(self.factors or ())} takes more than one value")
        gaps = gap(information)[used] / probe.entropies[used]
        parts = {probe.names[k]: float(g) for k, g in zip(used, gaps, strict=True)}
        return self.result(probe, gaps.mean(), parts=parts, matrix=information)
