"""Downstream: what a simple predictor makes of codes with few labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Share
from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels, Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers.boosting import boost
from hatchel.metrics.solvers.linear import logistic_regression


class Downstream(Metric):
    """Mean over factors of the test accuracy of a classifier with n labelled codes (Locatello et al. 2019).

    Continuous factors are predicted in 20 equal-width bins.
    """

    model: Literal["logistic", "boosting"] = "logistic"
    "Multinomial logistic regression on standardised codes, or 100 gradient-boosted trees of depth 3."
    labels: Count | None = 1000
    "Labelled rows to train on; all training rows where there are fewer, or where this is None."
    share: Share | None = None
    "Labelled rows as a share of the training rows, in place of `labels`."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        count = len(probe.train)
        wanted = self.labels if self.share is None else max(1, round(self.share * count))
        rows = rng.permutation(probe.train)[: wanted or count]
        centre = probe.codes[rows].mean(axis=0)
        spread = probe.codes[rows].std(axis=0)
        codes = (probe.codes - centre) / np.where(spread > 0, spread, 1.0)
        labels = [probe.classes[rows, k] for k in probe.varying]
        guesses = self._guesses(codes[rows], labels, codes[probe.test], rng)
        right = [(g == probe.classes[probe.test, k]).mean() for k, g in zip(probe.varying, guesses, strict=True)]
        parts = {probe.names[k]: float(r) for k, r in zip(probe.varying, right, strict=True)}
        notes = [f"{len(rows)} labels, {len(probe.test)} test rows"]
        return self.result(probe, float(np.mean(right)), parts=parts, n=len(rows), notes=notes)

    def _guesses(self, codes: Float, labels: list[Labels], test: Float, rng: np.random.Generator) -> list[Labels]:
        """The class of every test row, for each factor."""
        if self.model == "boosting":
            return [trees.predict(test) for trees in boost(codes, labels, rng)]
        guesses: list[Labels] = []
        for column in labels:
            classes, numbers = np.unique(column, return_inverse=True)
            guesses.append(classes[logistic_regression(codes, numbers.astype(np.int64)).scores(test).argmax(axis=1)])
        return guesses


def downstream(
    codes: Any,
    factors: Any,
    *,
    model: Literal["logistic", "boosting"] = "logistic",
    labels: int | None = 1000,
    share: float | None = None,
    train: int | None = None,
    test: int | None = None,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """Accuracy on `factors` (n, K) of a classifier on `codes` (n, D) with few labels; see Downstream."""
    if labels is not None and labels < 1:
        raise HatchelError(f"labels: expected at least 1, got {labels}")
    probe = Probe(codes, factors, names=names, continuous=continuous, train=train, test=test)
    return Downstream(model, labels, share).score(probe, seed, bootstrap)
