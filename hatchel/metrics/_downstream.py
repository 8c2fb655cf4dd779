"""Downstream: what a simple predictor makes of codes with few labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hatchel.core.spec import Count, Share, local
from hatchel.metrics.information import Float, standardised
from hatchel.metrics.inputs import Labels
from hatchel.metrics.metric import Bootstrap, Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.boosting import boost
from hatchel.metrics.solvers.logistic import logistic_regression


class Downstream(Metric):
    """Mean over factors of the test accuracy of a classifier with n labelled codes (Locatello et al. 2019).

    Continuous factors are predicted in 20 equal-width bins.

    >>> import numpy as np
    >>> from hatchel.metrics import downstream
    >>> factors = np.random.default_rng(0).integers(3, size=(300, 2))
    >>> float(downstream(np.eye(3)[factors].reshape(-1, 6), factors, labels=60))
    1.0
    """

    fits = True
    interval = Bootstrap(most=20)

    model: Literal["logistic", "boosting"] = "logistic"
    "Multinomial logistic regression on standardised codes, or 100 gradient-boosted trees of depth 3."
    labels: Count | None = 1000
    "Labelled rows to train on; all training rows where there are fewer, or where this is None."
    share: Share | None = None
    "Labelled rows as a share of the training rows, in place of `labels`."
    engine: Engine = local(default="hatchel")
    "Our own regression and boosted trees, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        count = len(probe.train)
        wanted = self.labels if self.share is None else max(1, round(self.share * count))
        rows = rng.permutation(probe.train)[: wanted or count]
        known = probe.codes[rows]
        codes, test = standardised(known), standardised(probe.codes[probe.test], known)
        labels = [probe.classes[rows, k] for k in probe.varying]
        guesses = self._guesses(codes, labels, test, rng)
        right = [(g == probe.classes[probe.test, k]).mean() for k, g in zip(probe.varying, guesses, strict=True)]
        parts = probe.by_factor(right)
        notes = [f"{len(rows)} labels, {len(probe.test)} test rows"]
        return self.result(probe, float(np.mean(right)), parts=parts, n=len(rows), notes=notes)

    def _guesses(self, codes: Float, labels: list[Labels], test: Float, rng: np.random.Generator) -> list[Labels]:
        """The class of every test row, for each factor."""
        if self.model == "boosting" and self.engine == "hatchel":
            return [trees.predict(test) for trees in boost(codes, labels, rng)]
        if self.model == "boosting":
            from sklearn.ensemble import GradientBoostingClassifier  # slow to import

            build: Any = GradientBoostingClassifier
            seed = int(rng.integers(2**31))
            return [build(random_state=seed).fit(codes, column).predict(test) for column in labels]
        return [logistic_regression(codes, column, engine=self.engine).predict(test) for column in labels]
