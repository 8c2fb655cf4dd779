"""The BetaVAE score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count, local
from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels
from hatchel.metrics.intervals import Bootstrap
from hatchel.metrics.interventions import SameValue, fixed_factors
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.logistic import logistic_regression


class BetaVAEScore(Metric):
    """Accuracy of a linear classifier that names the factor shared by pairs of rows (Higgins et al. 2017, Sec. 3).

    A point: fix one factor; its features are mean over pairs of |z_1 - z_2|, both of one pair with the same value of
    that factor. The classifier is multinomial logistic regression (C = 1), as in the reference protocol.

    >>> import numpy as np
    >>> from hatchel.metrics import beta_vae_score
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> float(beta_vae_score(factors + 0.0, factors))
    1.0
    """

    intervention = True
    interval = Bootstrap(most=20)

    pairs: Count = 64
    "Pairs per point."
    points: tuple[Count, Count] = (10_000, 5_000)
    "Training and test points."
    engine: Engine = local(default="hatchel")
    "Of the regression: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        if len(probe.varying) == 1:
            return self.result(probe, 1.0, parts={"train": 1.0}, notes=["one factor only: nothing to tell apart"])
        (train, train_labels), (test, test_labels) = (self._points(probe, count, rng) for count in self.points)
        model = logistic_regression(train, train_labels, engine=self.engine)
        fitted, fresh = (float((model.predict(x) == y).mean()) for x, y in ((train, train_labels), (test, test_labels)))
        return self.result(probe, fresh, parts={"train": fitted})

    def _points(self, probe: Probe, points: int, rng: np.random.Generator) -> tuple[Float, Labels]:
        features: list[Float] = []
        labels: list[NDArray[np.int64]] = []
        columns = probe.once(("columns",), lambda: np.ascontiguousarray(probe.codes.T))  # (D, n)
        for label, (factor, count) in enumerate(fixed_factors(probe, points, rng)):
            left = rng.integers(probe.n, size=(count, self.pairs))
            right = SameValue.of(probe, factor).draw(left, rng)
            features.append(np.stack([_distance(c, left, right) for c in columns], axis=1))
            labels.append(np.full(count, label))
        return np.concatenate(features), np.concatenate(labels)


def _distance(column: Float, left: NDArray[np.int64], right: NDArray[np.int64]) -> Float:
    """(points,): mean over pairs of |z_left - z_right|."""
    apart = column.take(left)
    apart -= column.take(right)
    np.abs(apart, out=apart)
    return apart.mean(axis=1)
