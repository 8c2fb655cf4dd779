"""Interventions: the BetaVAE and FactorVAE scores and IRS, on rows that share a factor's value."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count, NonNegative, Share, local
from hatchel.metrics.information import blocks, discretise, prior_divergence, variances
from hatchel.metrics.inputs import Float, Labels
from hatchel.metrics.metric import Bootstrap, Metric
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
    least_factors = 2
    interval = Bootstrap(most=20)

    pairs: Count = 64
    "Pairs per point."
    points: tuple[Count, Count] = (10_000, 5_000)
    "Training and test points."
    engine: Engine = local(default="hatchel")
    "Of the regression: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        (train, train_labels), (test, test_labels) = (self._points(probe, count, rng) for count in self.points)
        model = logistic_regression(train, train_labels, engine=self.engine)
        fitted, fresh = (float((model.predict(x) == y).mean()) for x, y in ((train, train_labels), (test, test_labels)))
        return self.result(probe, fresh, parts={"train": fitted})

    def _points(self, probe: Probe, points: int, rng: np.random.Generator) -> tuple[Float, Labels]:
        counts = fixed_factors(probe, points, rng)
        pairs = [_pairs(probe, factor, (count, self.pairs), rng) for factor, count in counts]
        features: list[Float] = []
        for some in blocks(probe.dims, probe.n):  # all codes by dimension would be another copy of them
            columns = np.ascontiguousarray(probe.codes[:, some].T)
            parts = [np.stack([_distance(column, *pair) for column in columns], axis=1) for pair in pairs]
            features.append(np.concatenate(parts))
        labels = np.repeat(np.arange(len(counts)), [count for _, count in counts])
        return np.concatenate(features, axis=1), labels


def _pairs(probe: Probe, factor: int, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Labels, Labels]:
    left = rng.integers(probe.n, size=shape)
    return left, SameValue.of(probe, factor).draw(left, rng)


def _distance(column: Float, left: NDArray[np.int64], right: NDArray[np.int64]) -> Float:
    """(points,): mean over pairs of |z_left - z_right|."""
    apart = column.take(left)
    apart -= column.take(right)
    np.abs(apart, out=apart)
    return apart.mean(axis=1)


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
    least_factors = 2
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
        train, test = (self._votes(probe, active, count, rng) for count in self.votes)  # (A, K) each
        best = train.argmax(axis=1)
        value = test[np.arange(len(best)), best].sum() / test.sum()
        matrix = np.zeros((probe.dims, len(probe.names)))
        matrix[active] = train
        parts = {"train": float(train.max(axis=1).sum() / train.sum()), "active": len(active)}
        return self.result(probe, value, parts=parts, matrix=matrix, notes=notes)

    def _votes(self, probe: Probe, active: Labels, votes: int, rng: np.random.Generator) -> Float:
        counts = fixed_factors(probe, votes, rng)
        drawn = [
            SameValue.of(probe, factor).draw(rng.integers(probe.n, size=count), rng, self.batch)
            for factor, count in counts
        ]
        rows, factors = np.concatenate(drawn), np.repeat(*np.transpose(counts))  # (votes, batch), (votes,)
        # One dimension after the other: all of them standardised would be another copy of the codes.
        winners = np.stack([_variances(_unit(probe.codes[:, d]), rows) for d in active]).argmin(axis=0)
        table = np.zeros((len(active), len(probe.names)))
        np.add.at(table, (winners, factors), 1)
        return table

    def _size(self, probe: Probe) -> Float:
        if self.prune == "std":
            return np.sqrt(variances(probe.codes) * probe.n / max(1, probe.n - 1))
        assert probe.std is not None
        return prior_divergence(probe.codes, probe.std)


def _unit(column: Float) -> Float:
    """With mean 0 and variance 1 (n - 1)."""
    result = column - column.mean()
    result /= np.sqrt(result @ result / (len(result) - 1))
    return result


def _variances(column: Float, rows: Labels) -> Float:
    """(votes,): the variance over each vote's rows, up to a constant factor."""
    drawn = column[rows]
    return np.einsum("vb,vb->v", drawn, drawn) - drawn.sum(axis=1) ** 2 / rows.shape[1]


class IRS(Metric):
    """How little each dimension moves while its best factor is held fixed (Suter et al. 2019).

    IRS_dk = 1 - mean over values v of quantile |z_d - E[z_d | v_k = v]| / max |z_d - E z_d|; the largest over factors,
    averaged over dimensions with the weights max |z_d - E z_d|.

    >>> import numpy as np
    >>> from hatchel.metrics import irs
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(irs(factors + 0.0, factors))
    1.0
    """

    intervention = True
    interval = Bootstrap(most=50)

    quantile: Share = 0.99
    "Of the deviations within a value: 0.99 as the reference library has it, 1 as the paper has it (the maximum)."
    bins: Count = 20
    "Values of a factor with more than so many are held fixed in groups, equal-width bins, as the reference does."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        mean = probe.codes.mean(axis=0)
        reach = np.maximum(probe.codes.max(axis=0) - mean, mean - probe.codes.min(axis=0))
        alive = np.setdiff1d(np.arange(probe.dims), probe.dead)
        matrix = np.full((probe.dims, len(probe.names)), np.nan)
        if not len(alive):
            return self.result(probe, 0.0, matrix=matrix)
        for k in probe.varying:
            labels = discretise(probe.classes[:, k : k + 1].astype(np.float64), self.bins)[:, 0]
            codes = probe.codes if len(alive) == probe.dims else probe.codes[:, alive]
            deviation = self._deviation(codes, SameValue(labels))
            # Around a value's own mean, rows may lie further out than all rows do around theirs.
            matrix[alive, k] = np.maximum(0.0, 1 - deviation / reach[alive])
        scores = matrix[np.ix_(alive, probe.varying)].max(axis=1)
        parts = {f"z{d}": float(s) for d, s in zip(alive, scores, strict=True)}
        return self.result(probe, np.average(scores, weights=reach[alive]), parts=parts, matrix=matrix)

    def _deviation(self, codes: Float, index: SameValue) -> Float:
        """The mean over the factor's values of the quantile of |z - mean| among the rows with that value."""
        groups = [rows for rows in np.split(index.order, index.starts[1:]) if len(rows)]
        found = np.empty((len(groups), codes.shape[1]))
        for number, rows in enumerate(groups):
            for some in blocks(codes.shape[1], len(rows)):
                group = codes[rows, some]
                group -= group.mean(axis=0)
                found[number, some] = _quantile(np.abs(group, out=group), self.quantile)
        return found.mean(axis=0)


def _quantile(values: Float, q: float) -> Float:
    """np.quantile along the first axis (linear interpolation), without its overhead per call."""
    place = q * (len(values) - 1)
    low, high = int(np.floor(place)), int(np.ceil(place))
    ordered = np.partition(values, (low, high), axis=0)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


class SameValue:
    """An index from every value of one factor to its rows: the rows sorted by value, and where each value starts."""

    def __init__(self, labels: Labels) -> None:
        counts = np.bincount(labels)
        starts = np.cumsum(counts) - counts
        kind = np.int32 if len(labels) < 2**31 else np.int64
        self.order = np.argsort(labels, kind="stable").astype(kind)
        self.starts = starts
        self._labels = labels
        self._count = counts.astype(np.float64)

    @classmethod
    def of(cls, probe: Probe, factor: int) -> SameValue:
        """The index of one factor, built once per probe."""
        return probe.once(("same value", factor), lambda: cls(probe.classes[:, factor]))

    def draw(self, like: NDArray[np.int64], rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
        """Rows with the same value as each row of `like`, uniformly and with replacement: like's shape (x size)."""
        shape = like.shape if size is None else (*like.shape, size)
        like = like if size is None else like[..., None]
        offset = rng.random(shape)
        value = self._labels.take(like)
        offset *= self._count.take(value)
        places = offset.astype(np.int64)
        places += self.starts.take(value)
        return self.order.take(places).astype(np.int64)


def fixed_factors(probe: Probe, votes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """How often each varying factor is the one held fixed in so many votes: (factor, count)."""
    chosen = rng.integers(len(probe.varying), size=votes)
    counts = np.bincount(chosen, minlength=len(probe.varying))
    return [(int(k), int(c)) for k, c in zip(probe.varying, counts, strict=True)]
