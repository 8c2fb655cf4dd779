"""IRS: the interventional robustness score."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count, Share
from hatchel.metrics.information import Float, discretise
from hatchel.metrics.interventions import SameValue
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class IRS(Metric):
    """How little each dimension moves while its best factor is held fixed (Suter et al. 2019).

    IRS_dk = 1 - mean over values v of quantile |z_d - E[z_d | v_k = v]| / max |z_d - E z_d|; the largest over factors,
    averaged over dimensions with the weights max |z_d - E z_d|.

    >>> import numpy as np
    >>> from hatchel.metrics import irs
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(irs(factors + 0.0, factors))
    1.0
    """

    intervention = True

    quantile: Share = 0.99
    "Of the deviations within a value: 0.99 as the reference library has it, 1 as the paper has it (the maximum)."
    bins: Count = 20
    "Values of a factor with more than so many are held fixed in groups, equal-width bins, as the reference does."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        reach = np.abs(probe.codes - probe.codes.mean(axis=0)).max(axis=0)
        alive = np.setdiff1d(np.arange(probe.dims), probe.dead)
        matrix = np.full((probe.dims, len(probe.names)), np.nan)
        if not len(alive):
            return self.result(probe, 0.0, matrix=matrix)
        for k in probe.varying:
            labels = discretise(probe.classes[:, k : k + 1].astype(np.float64), self.bins)[:, 0]
            deviation = self._deviation(probe.codes[:, alive], SameValue(labels))
            matrix[alive, k] = 1 - deviation / reach[alive]
        scores = matrix[np.ix_(alive, probe.varying)].max(axis=1)
        parts = {f"z{d}": float(s) for d, s in zip(alive, scores, strict=True)}
        return self.result(probe, np.average(scores, weights=reach[alive]), parts=parts, matrix=matrix)

    def _deviation(self, codes: Float, index: SameValue) -> Float:
        """The mean over the factor's values of the quantile of |z - mean| among the rows with that value."""
        groups = np.split(codes[index.order], index.starts[1:])
        groups = [g for g in groups if len(g)]
        return np.mean([_quantile(np.abs(g - g.mean(axis=0)), self.quantile) for g in groups], axis=0)


def _quantile(values: Float, q: float) -> Float:
    """np.quantile along the first axis (linear interpolation), without its overhead per call."""
    place = q * (len(values) - 1)
    low, high = int(np.floor(place)), int(np.ceil(place))
    ordered = np.partition(values, (low, high), axis=0)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
