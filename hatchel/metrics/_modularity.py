"""Modularity and explicitness (Ridgeway & Mozer 2018)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hatchel.core.spec import Count, Positive, local
from hatchel.metrics.information import standardised
from hatchel.metrics.inputs import Float, Labels
from hatchel.metrics.metric import Metric, Subsampling
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.logistic import logistic_regression


class Modularity(Metric):
    """How far each dimension is from informing about one factor only (Ridgeway & Mozer 2018, Sec. 3).

    m_d = 1 - sum_{k != k*} I(z_d; v_k)^2 / (I(z_d; v_k*)^2 (K - 1)),  k* = argmax_k I(z_d; v_k);  the mean over d.

    >>> import numpy as np
    >>> from hatchel.metrics import modularity
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(modularity(factors + 0.0, factors))
    1.0
    """

    least_factors = 2

    bins: Count = 20
    "Equal-width bins per dimension."
    empty: Literal["zero", "left out"] = "zero"
    "A dimension without any information: counted 0, as the reference does, or left out of the mean."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        squares = information[:, probe.varying] ** 2
        largest = squares.max(axis=1)
        informed = largest > 0
        rivals = len(probe.varying) - 1
        safe = np.where(informed, largest, 1.0)
        scores = np.where(informed, 1 - (squares.sum(axis=1) - largest) / (safe * rivals), 0.0)
        kept = np.ones_like(informed) if self.empty == "zero" or not informed.any() else informed
        parts = {f"z{d}": float(scores[d]) for d in np.flatnonzero(kept)}
        return self.result(probe, scores[kept].mean(), parts=parts, matrix=information)


class Explicitness(Metric):
    """How well a linear classifier reads each factor value from the whole code (Ridgeway & Mozer 2018, Sec. 3).

    The mean over factors of the mean over their values of the area under the ROC curve, one value against the others,
    on the test rows; by multinomial logistic regression on standardised codes. 1/2 is chance. A continuous factor
    enters as 20 equal-width bins.

    >>> import numpy as np
    >>> from hatchel.metrics import explicitness
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> round(float(explicitness(np.eye(3)[factors].reshape(-1, 6), factors)), 6)
    1.0
    """

    fits = True
    interval = Subsampling(most=8, rows=3000)

    c: Positive = 1.0
    "Inverse strength of the penalty on the weights."
    chance_at_zero: bool = False
    "2 AUC - 1, as in the paper's figures, in place of the AUC that the reference protocol reports."
    engine: Engine = local(default="hatchel")
    "Of the regression: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        fitted = probe.codes[probe.train]
        alive = fitted.std(axis=0) > 0
        train, test = (standardised(rows, fitted)[:, alive] for rows in (fitted, probe.codes[probe.test]))
        parts: dict[str, float] = {}
        for k in probe.varying:
            seen, labels = np.unique(probe.classes[probe.train, k], return_inverse=True)
            model = logistic_regression(train, labels, self.c, engine=self.engine)
            truth = probe.classes[probe.test, k]
            numbers = np.searchsorted(seen, truth)  # a class that no training row has is nobody's own
            numbers = np.where(seen[np.minimum(numbers, len(seen) - 1)] == truth, numbers, -1)
            areas = one_against_rest_auc(model.predict_proba(test), numbers)
            area = float(np.nanmean(areas)) if np.isfinite(areas).any() else 0.5
            parts[probe.names[k]] = 2 * area - 1 if self.chance_at_zero else area
        return self.result(probe, float(np.mean(list(parts.values()))), parts=parts)


def one_against_rest_auc(scores: Float, labels: Labels) -> Float:
    """Area under the ROC curve of each class's score (n, K) against all others; NaN for a class without rows.

    The share of pairs (row of the class, other row) in the right order, ties half (Mann & Whitney 1947).

    >>> one_against_rest_auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.4, 0.6], [0.1, 0.9]]), np.array([0, 0, 1, 1]))
    array([0.875, 0.875])
    """
    result = np.full(scores.shape[1], np.nan)
    for k, score in enumerate(np.ascontiguousarray(scores.T)):
        own, rest = np.sort(score[labels == k]), np.sort(score[labels != k])  # a third less than ranking all rows
        if len(own) and len(rest):
            below = np.searchsorted(rest, own, side="left") + np.searchsorted(rest, own, side="right")
            result[k] = below.sum() / (2 * len(own) * len(rest))
    return result
