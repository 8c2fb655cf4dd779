"""MED: mutual-information-based entropy disentanglement, over all dimensions or the best k of each factor."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.information import Float, concentration, weighted_concentration
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class MED(Metric):
    """DCI's disentanglement with shares of mutual information as importance (Cao et al. 2022; DeVAE 2023, App. A.7).

    R_dk = I(z_d; v_k) / sum_d' I(z_d'; v_k),  MED = sum_d rho_d (1 - H_K(P_d)) with P_d = R_d / sum_k R_dk.

    >>> import numpy as np
    >>> from hatchel.metrics import med
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(med(factors + 0.0, factors))
    1.0
    """

    least_factors = 2

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        importance = information_shares(probe, self.bins)
        used = importance[:, probe.varying]
        parts = {"completeness": weighted_concentration(used.T)}
        return self.result(probe, weighted_concentration(used), parts=parts, matrix=importance)


def information_shares(probe: Probe, bins: int) -> Float:
    """(D, K): each dimension's share of all dimensions' information about a factor; NaN for a constant factor."""
    information = probe.mutual_information(bins)
    total = information.sum(axis=0)
    shares = information / np.where(total > 0, total, 1.0)
    shares[:, np.setdiff1d(np.arange(len(probe.names)), probe.varying)] = np.nan
    return shares


def most_disentangled(importance: Float, k: int) -> Float:
    """The rows of the k dimensions with the largest 1 - H(P_d) among those that are about each factor most."""
    order = np.argsort(-concentration(importance), kind="stable")
    factor = importance.argmax(axis=1)[order]
    chosen = [order[factor == f][:k] for f in range(importance.shape[1])]
    return importance[np.sort(np.concatenate(chosen))]


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

    least_factors = 2

    k: Count = 2
    "Dimensions kept for each factor."
    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        importance = information_shares(probe, self.bins)
        kept = most_disentangled(importance[:, probe.varying], self.k)
        parts = {"completeness": weighted_concentration(kept.T), "dimensions": len(kept)}
        return self.result(probe, weighted_concentration(kept), parts=parts, matrix=importance)
