"""SAP: the separated attribute predictability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from hatchel.core.spec import Positive, added, local
from hatchel.metrics.information import Float, gap, squared_correlations
from hatchel.metrics.inputs import Labels
from hatchel.metrics.metric import Metric, Subsampling
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.margins import Margins

DIMENSIONS = 64
"""Solved at a time: of a thousand the sorted rows of every class would take gigabytes."""


class SAP(Metric):
    """Mean over factors of the gap between the two latents that predict it best alone (Kumar et al. 2018, Sec. 3).

    S_dk of a discrete factor is the test accuracy of a linear support vector machine on z_d with balanced classes; of
    a continuous one the squared correlation cov(z_d, v_k)² / (var z_d var v_k) of the training rows.

    >>> import numpy as np
    >>> from hatchel.metrics import sap
    >>> factors = np.random.default_rng(0).integers(2, size=(3000, 2))
    >>> round(float(sap(factors + 0.0, factors)), 1)
    0.5
    """

    fits = True
    accepts = ("ordered",)
    interval = Subsampling(most=20, rows=3000)

    c: Positive = 0.01
    "The support vector machine's C."
    balanced_accuracy: bool = False
    "Accuracy as the mean over classes, not over rows."
    by: Literal["accuracy", "r2"] = added(default="accuracy")
    """`r2`: the squared correlation for every ordered factor too, as Cheng et al. 2020 (Sec. 6.4); classes without an
    order stay with the accuracy."""
    engine: Engine = local(default="hatchel")
    "Of the support vector machines: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        scores = np.full((probe.dims, len(probe.names)), np.nan)
        assert probe.ordered is not None
        classified = probe.unordered if self.by == "r2" else ~probe.continuous
        discrete = [int(k) for k in probe.varying if classified[k]]
        if discrete:
            train, test = (probe.classes[rows][:, discrete] for rows in (probe.train, probe.test))
            for start in range(0, probe.dims, DIMENSIONS):
                some = slice(start, start + DIMENSIONS)
                known, fresh = (probe.codes[rows, some] for rows in (probe.train, probe.test))
                accuracies = (
                    Margins(known, train, self.c).accuracies
                    if self.engine == "hatchel"
                    else _fitted(known, train, self.c)
                )
                plain, balanced = accuracies(fresh, test)
                scores[some, discrete] = balanced if self.balanced_accuracy else plain
        for k in np.setdiff1d(probe.varying, discrete):
            scores[:, k] = squared_correlations(probe.codes[probe.train], probe.ordered[probe.train, k])
        used = probe.varying
        gaps = gap(scores[:, used])
        parts = probe.by_factor(gaps)
        return self.result(probe, gaps.mean(), parts=parts, matrix=scores)


def _fitted(codes: Float, labels: Labels, c: float) -> Callable[[Float, Labels], tuple[Float, Float]]:
    """What `Margins` does, by scikit-learn."""
    from sklearn.dummy import DummyClassifier  # slow to import
    from sklearn.svm import LinearSVC

    options: dict[str, Any] = {"C": c, "class_weight": "balanced", "dual": False, "tol": 1e-6, "max_iter": 100_000}

    def fitted(z: Float, v: Labels) -> Any:
        build: Any = LinearSVC(**options) if np.ptp(v) else DummyClassifier()  # one class: all it can answer
        return build.fit(z[:, None], v)

    models = np.array([[fitted(z, v) for v in labels.T] for z in codes.T], dtype=object)

    def accuracies(codes: Float, labels: Labels) -> tuple[Float, Float]:
        plain, balanced = np.empty((2, codes.shape[1], labels.shape[1]))
        for (d, k), model in np.ndenumerate(models):
            guesses = model.predict(codes[:, d : d + 1])
            right = guesses == labels[:, k]
            plain[d, k] = right.mean()
            balanced[d, k] = np.mean([right[labels[:, k] == value].mean() for value in np.unique(labels[:, k])])
        return plain, balanced

    return accuracies
