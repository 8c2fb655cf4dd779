"""SAP: the separated attribute predictability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hatchel.core.spec import Positive
from hatchel.metrics.information import Float, gap
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers.margins import Margins


class SAP(Metric):
    """Mean over factors of the gap between the two latents that predict it best alone (Kumar et al. 2018, Sec. 3).

    S_dk of a discrete factor is the test accuracy of a linear support vector machine on z_d with balanced classes; of
    a continuous one the squared correlation cov(z_d, v_k)² / (var z_d var v_k) of the training rows.
    """

    c: Positive = 0.01
    "The support vector machine's C."
    balanced_accuracy: bool = False
    "Accuracy as the mean over classes, not over rows."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        scores = np.full((probe.dims, len(probe.names)), np.nan)
        discrete = [int(k) for k in probe.varying if not probe.continuous[k]]
        if discrete:
            labels = probe.classes[:, discrete]
            lines = Margins(probe.codes[probe.train], labels[probe.train], self.c)
            plain, balanced = lines.accuracies(probe.codes[probe.test], labels[probe.test])
            scores[:, discrete] = balanced if self.balanced_accuracy else plain
        for k in probe.varying:
            if probe.continuous[k]:
                scores[:, k] = _squared_correlation(probe, int(k))
        used = probe.varying
        gaps = gap(scores[:, used])
        parts = {probe.names[k]: float(g) for k, g in zip(used, gaps, strict=True)}
        return self.result(probe, gaps.mean(), parts=parts, matrix=scores)


def _squared_correlation(probe: Probe, factor: int) -> Float:
    codes = probe.codes[probe.train]
    values = np.asarray(probe.values)[probe.train, factor].astype(np.float64)
    codes, values = codes - codes.mean(axis=0), values - values.mean()
    spread = (codes**2).sum(axis=0) * (values @ values)
    return np.where(spread > 0, (values @ codes) ** 2 / np.where(spread > 0, spread, 1), 0.0)


def sap(
    codes: Any,
    factors: Any,
    *,
    c: float = 0.01,
    balanced_accuracy: bool = False,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    train: int | None = None,
    test: int | None = None,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """The SAP score of `codes` (n, D) for `factors` (n, K); see SAP.

    >>> factors = np.random.default_rng(0).integers(2, size=(3000, 2))
    >>> round(float(sap(factors + 0.0, factors)), 1)
    0.5
    """
    probe = Probe(codes, factors, names=names, continuous=continuous, train=train, test=test)
    return SAP(c, balanced_accuracy).score(probe, seed, bootstrap)
