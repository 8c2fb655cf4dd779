"""Downstream: what a simple predictor makes of codes with few labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hatchel.errors import HatchelError
from hatchel.metrics.fitting import fit
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.spec import Count, Share


class Downstream(Metric):
    """Mean over factors of the test accuracy of a classifier with n labelled codes (Locatello et al. 2019, Sec. 5.4).

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
        seed = int(rng.integers(2**31))
        parts: dict[str, Any] = {}
        notes = [f"{len(rows)} labels, {len(probe.test)} test rows"]
        for k in probe.varying:
            labels = probe.classes[:, k]
            if len(np.unique(labels[rows])) < 2:
                parts[probe.names[k]] = float((labels[probe.test] == labels[rows[0]]).mean())
                continue
            model = self._model(seed)
            notes += fit(model, codes[rows], labels[rows])
            parts[probe.names[k]] = float(model.score(codes[probe.test], labels[probe.test]))
        notes = list(dict.fromkeys(notes))
        return self.result(probe, float(np.mean(list(parts.values()))), parts=parts, n=len(rows), notes=notes)

    def _model(self, seed: int) -> Any:
        if self.model == "logistic":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression(C=1.0, max_iter=1000)
        from sklearn.ensemble import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=100, learning_rate=0.1, max_depth=3, random_state=seed)


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
