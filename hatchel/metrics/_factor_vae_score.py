"""The FactorVAE score."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count, NonNegative
from hatchel.metrics.information import Float, prior_divergence
from hatchel.metrics.intervals import Bootstrap
from hatchel.metrics.interventions import SameValue, fixed_factors
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class FactorVAEScore(Metric):
    """Accuracy of a majority vote from the dimension that varies least to the factor held fixed (Kim & Mnih 2018).

    A vote: fix one factor, draw a batch, d* = argmin_d Var_batch(z_d) / Var(z_d). The majority of the training votes
    maps d* to a factor; the score is the share of fresh votes it maps rightly. Dimensions with a standard deviation
    under `threshold` take no part, so that a dead one (0/0) cannot win.

    >>> import numpy as np
    >>> from hatchel.metrics import factor_vae_score
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> float(factor_vae_score(factors + 0.0, factors))
    1.0
    """

    intervention = True
    interval = Bootstrap(most=50)
    also_needs = {("prune", "kl"): "std"}  # noqa: RUF012

    prune: Literal["std", "kl"] = "std"
    "Leave out dimensions by the deviation of their means over the data, or by their mean KL(q(z_d|x) || N(0, 1))."
    threshold: NonNegative = 0.05
    "Dimensions under it are left out; constant ones always."
    batch: Count = 64
    "Rows per vote."
    votes: tuple[Count, Count] = (10_000, 5_000)
    "Training and test votes."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        active = np.flatnonzero(self._size(probe) >= self.threshold)
        active = active[~np.isin(active, probe.dead)]
        pruned = [f"z{d}" for d in range(probe.dims) if d not in active]
        notes = [f"left out under {self.prune} {self.threshold}: {', '.join(pruned)}"] if pruned else []
        if not len(active):
            return self.result(probe, 0.0, parts={"train": 0.0, "active": 0}, notes=notes)
        codes = probe.codes[:, active]
        columns = np.ascontiguousarray(((codes - codes.mean(axis=0)) / codes.std(axis=0, ddof=1)).T)  # (A, n)
        train, test = (self._votes(probe, columns, count, rng) for count in self.votes)  # (A, K) each
        best = train.argmax(axis=1)
        value = test[np.arange(len(best)), best].sum() / test.sum()
        matrix = np.zeros((probe.dims, len(probe.names)))
        matrix[active] = train
        parts = {"train": float(train.max(axis=1).sum() / train.sum()), "active": len(active)}
        return self.result(probe, value, parts=parts, matrix=matrix, notes=notes)

    def _votes(self, probe: Probe, columns: Float, votes: int, rng: np.random.Generator) -> Float:
        table = np.zeros((len(columns), len(probe.names)))
        for factor, count in fixed_factors(probe, votes, rng):
            first = rng.integers(probe.n, size=count)
            rows = SameValue.of(probe, factor).draw(first, rng, self.batch)  # (count, batch)
            winners = _variances(columns, rows).argmin(axis=0)
            table[:, factor] = np.bincount(winners, minlength=len(columns))
        return table

    def _size(self, probe: Probe) -> Float:
        if self.prune == "std":
            return probe.codes.std(axis=0, ddof=1) if probe.n > 1 else np.zeros(probe.dims)
        assert probe.std is not None
        return prior_divergence(probe.codes, probe.std)


def _variances(columns: Float, rows: NDArray[np.int64]) -> Float:
    """(A, votes): the variance over each vote's rows, up to a constant factor."""
    result = np.empty((len(columns), len(rows)))
    for a, column in enumerate(columns):
        drawn = column[rows]
        result[a] = np.einsum("vb,vb->v", drawn, drawn) - drawn.sum(axis=1) ** 2 / rows.shape[1]
    return result
