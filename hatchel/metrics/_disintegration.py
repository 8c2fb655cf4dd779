"""Factor disintegration: one factor spread over several dimensions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Share, added
from hatchel.metrics import information
from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Disintegration(Metric):
    """For each factor: which dimensions carry it, and how many they amount to (Cheng et al. 2020, Sec. 6.3).

    A dimension carries factor k if its share s_dk (I(z_d; v_k) / H(v_k), or R²) is at least `threshold` of the largest.
    The value is the mean over factors of the effective number exp(H(P_k)), P_k the carriers' shares made to sum to 1: 1
    where every factor has one dimension. Parts per factor: carriers, gap of the two largest shares, effective number,
    `dependence`, the mean normalised mutual information between carriers, and `independent`, 1 where two of them that
    each have a share of `learned` are independent: theirs is at most `independence`, less the bias of counting. Only
    then has the factor disintegrated in the paper's sense; `independent_carriers` is the number of such factors.

    >>> import numpy as np
    >>> from hatchel.metrics import disintegration
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(disintegration(factors[:, [0, 0, 1]] + 0.0, factors))  # the first in two dimensions, the second in one
    1.5
    """

    lower_is_better = True

    threshold: Share = 0.5
    "A carrier's smallest share, as a share of the largest."
    by: Literal["information", "r2"] = "information"
    "Normalised mutual information, or the squared correlation with the factor's values."
    bins: Count = 20
    "Equal-width bins per dimension."
    learned: Share = added(default=0.1)
    "The share without which a dimension is no independent carrier; ours."
    independence: Share = added(default=0.1)
    "Largest normalised mutual information of two carriers that count as independent; ours."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        shares = self._shares(probe)
        gaps = information.gap(np.nan_to_num(shares))
        parts: dict[str, Any] = {}
        for k in probe.varying:
            column = shares[:, k]
            carriers = np.flatnonzero((column >= self.threshold * column.max()) & (column > 0))
            effective = float(np.exp(_entropy(column[carriers]))) if len(carriers) else 0.0
            parts[probe.names[k]] = {
                "carriers": [f"z{d}" for d in carriers],
                "gap": float(gaps[k]),
                "effective_number": effective,
                "dependence": _dependence(probe.binned(self.bins)[:, carriers]),
                "independent": self._independent(probe, carriers[column[carriers] >= self.learned]),
            }
        value = float(np.mean([p["effective_number"] for p in parts.values()]))
        parts["independent_carriers"] = float(sum(p["independent"] for p in parts.values()))
        return self.result(probe, value, parts=parts, matrix=shares)

    def _independent(self, probe: Probe, carriers: Labels) -> float:
        """1 where two of these dimensions are independent of each other."""
        labels = probe.binned(self.bins)[:, carriers]
        shares, shared = information.normalised_information(labels)
        filled = np.array([len(np.unique(column)) - 1 for column in labels.T])
        bias = np.outer(filled, filled) / (2 * probe.n)  # of counted information (Miller 1955)
        beyond = shares * np.maximum(0.0, 1 - np.divide(bias, shared, out=np.ones_like(bias), where=shared > 0))
        return float((beyond[~np.eye(len(beyond), dtype=np.bool_)] <= self.independence).any())

    def _shares(self, probe: Probe) -> Float:
        result = np.full((probe.dims, len(probe.names)), np.nan)
        if self.by == "information":
            shared = probe.mutual_information(self.bins)
            result[:, probe.varying] = shared[:, probe.varying] / probe.entropies[probe.varying]
            return result
        values = probe.values
        if values is None or not probe.numeric[probe.varying].all():
            raise HatchelError("disintegration: R² needs factors that are numbers; use by='information'")
        for k in probe.varying:
            result[:, k] = information.squared_correlations(probe.codes, values[:, k])
        return result


def _entropy(shares: Float) -> float:
    weights = shares / shares.sum()
    return float(-(weights * np.log(weights)).sum())


def _dependence(labels: Labels) -> float:
    """The mean of I / sqrt(H H) over pairs of columns; 0 for one column."""
    shares, _ = information.normalised_information(labels)
    return float(shares[~np.eye(len(shares), dtype=np.bool_)].mean()) if len(shares) > 1 else 0.0
