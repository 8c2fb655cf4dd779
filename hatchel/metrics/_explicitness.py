"""Explicitness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hatchel.core.spec import Positive
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers.linear import logistic_regression, one_against_rest_auc


class Explicitness(Metric):
    """How well a linear classifier reads each factor value from the whole code (Ridgeway & Mozer 2018, Sec. 3).

    The mean over factors of the mean over their values of the area under the ROC curve, one value against the others,
    on the test rows; by multinomial logistic regression on standardised codes. 1/2 is chance. A continuous factor
    enters as 20 equal-width bins.
    """

    c: Positive = 1.0
    "Inverse strength of the penalty on the weights."
    chance_at_zero: bool = False
    "2 AUC - 1, as in the paper's figures, in place of the AUC that the reference protocol reports."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        train, test = probe.codes[probe.train], probe.codes[probe.test]
        centre, spread = train.mean(axis=0), train.std(axis=0)
        alive = spread > 0
        train, test = ((z[:, alive] - centre[alive]) / spread[alive] for z in (train, test))
        parts: dict[str, float] = {}
        for k in probe.varying:
            seen, labels = np.unique(probe.classes[probe.train, k], return_inverse=True)
            model = logistic_regression(train, labels, self.c)
            truth = probe.classes[probe.test, k]
            numbers = np.searchsorted(seen, truth)  # a class that no training row has is nobody's own
            numbers = np.where(seen[np.minimum(numbers, len(seen) - 1)] == truth, numbers, -1)
            areas = one_against_rest_auc(model.chances(test), numbers)
            area = float(np.nanmean(areas)) if np.isfinite(areas).any() else 0.5
            parts[probe.names[k]] = 2 * area - 1 if self.chance_at_zero else area
        return self.result(probe, float(np.mean(list(parts.values()))), parts=parts)


def explicitness(
    codes: Any,
    factors: Any,
    *,
    c: float = 1.0,
    chance_at_zero: bool = False,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    train: int | None = None,
    test: int | None = None,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """The explicitness of `codes` (n, D) for `factors` (n, K); see Explicitness.

    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> round(float(explicitness(np.eye(3)[factors].reshape(-1, 6), factors)), 6)
    1.0
    """
    probe = Probe(codes, factors, names=names, continuous=continuous, train=train, test=test)
    return Explicitness(c, chance_at_zero).score(probe, seed, bootstrap)
