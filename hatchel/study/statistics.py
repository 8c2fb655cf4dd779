"""Statistics for comparing methods: intervals over seeds, differences, who wins, which metrics agree.

Intervals over the rows of one data set come with the metrics themselves (`bootstrap=200`); these are over runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate

Float = NDArray[np.float64]
Centre = Literal["mean", "median", "interquartile"]


@dataclass(frozen=True)
class Mean:
    """The mean of runs, or the difference of two means, as Student's t sees it."""

    value: float
    error: float
    """Its standard error; 0 where nothing varies."""
    df: float
    """Degrees of freedom; infinite of what no seed changes, such as a count."""
    n: int
    """Runs, or pairs of runs; of two unpaired samples the smaller number."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of runs; of one alone nothing but the value is known."""
        runs = _runs(values, "values", least=1)
        n = len(runs)
        return cls(float(runs.mean()), float(runs.std(ddof=1) / n**0.5) if n > 1 else np.nan, n - 1, n)

    @classmethod
    def welch(cls, first: Sequence[float], second: Sequence[float]) -> Mean:
        """first - second of runs that share nothing (Welch 1947)."""
        a, b = _runs(first, "first"), _runs(second, "second")
        va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
        df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if va + vb else len(a) + len(b) - 2
        return cls(float(a.mean() - b.mean()), float((va + vb) ** 0.5), float(df), min(len(a), len(b)))

    def estimate(self, level: float = 0.95) -> Estimate:
        """With its interval."""
        from scipy.stats import t

        half = t.ppf(0.5 + _level(level) / 2, self.df) * self.error if self.error else 0.0
        return Estimate(self.value, self.value - float(half), self.value + float(half), self.n, level)

    def p(self, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
        """How probable so clear a mean between the limits is if the true one is not between them; and the reverse.

        Each is twice the one-sided p, so that with one limit the smaller of them is the usual two-sided p, and with
        two limits 0.05 is where the 95 % interval touches one of them.
        """
        from scipy.stats import t

        if np.isnan(self.error):
            return 1.0, 1.0
        above, below = self._t(low), self._t(high)
        inside = max(t.sf(above, self.df), t.cdf(below, self.df))
        outside = min(t.cdf(above, self.df), t.sf(below, self.df))
        return min(1.0, 2 * float(inside)), min(1.0, 2 * float(outside))

    def needed(self, low: float, high: float, level: float = 0.05) -> int | None:
        """The smallest number of seeds that would decide it if mean and spread stayed as they are; None: above 100."""
        for n in range(2, MOST + 1) if self.n > 1 else ():
            rate = (n - 1) / (self.n - 1)
            if min(Mean(self.value, self.error * (self.n / n) ** 0.5, self.df * rate, n).p(low, high)) <= level:
                return n
        return None

    def _t(self, limit: float) -> float:
        away = self.value - limit
        return away / self.error if self.error else float(np.sign(away) * np.inf) if away else 0.0


MOST = 100
"""Seeds beyond which nobody asks how many more it takes."""


def over_seeds(
    values: Sequence[float], *, centre: Centre = "mean", level: float = 0.95, replicates: int = 2000, seed: int = 0
) -> Estimate:
    """The mean of runs that differ in their seed, with Student's t interval.

    The median and the interquartile mean (Agarwal et al. 2021) have a bootstrap's: of a few runs it is too narrow.

    >>> print(over_seeds([0.2, 0.3, 0.25, 0.35]))
    0.2750 [0.1723, 0.3777]
    """
    runs = _runs(values, "values")
    if centre == "mean":
        return Mean.of(runs.tolist()).estimate(level)
    draws = np.random.default_rng(seed).integers(len(runs), size=(replicates, len(runs)))
    statistic = _CENTRES[centre]
    return _estimate(float(statistic(runs[None])[0]), statistic(runs[draws]), level, len(runs))


def mean_of(values: Sequence[float]) -> Estimate:
    """Of runs, as far as it is known: of one alone there is no interval."""
    return over_seeds(values) if len(values) > 1 else Estimate(float(values[0]), n=1)


def paired_difference(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> Estimate:
    """first - second over runs that share seed and data pairwise: what the seeds have in common cancels.

    >>> float(paired_difference([1.5, 2.5, 3.5], [1.0, 2.0, 3.0]))
    0.5
    """
    a, b = _runs(first, "first"), _runs(second, "second")
    if len(a) != len(b):
        raise HatchelError(f"paired_difference: {len(a)} and {len(b)} runs; pairs need as many of each")
    return over_seeds((a - b).tolist(), level=level)


def holm(p: Sequence[float]) -> list[float]:
    """p values corrected for there being several of them (Holm 1979); of k left, the smallest counts k times.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, worst = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = min(1.0, max(worst, (len(p) - rank) * p[place]))
        corrected[place] = worst
    return corrected


def probability_of_improvement(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95, replicates: int = 2000, seed: int = 0
) -> Estimate:
    """P(a run of `first` scores higher than a run of `second`), ties one half (Agarwal et al. 2021).

    The Mann-Whitney U statistic over the number of pairs.

    >>> round(float(probability_of_improvement([2.0, 3.0], [1.0, 2.0, 2.5])), 4)
    0.75
    """
    a, b = _runs(first, "first"), _runs(second, "second")
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)  # (A, B)
    random = np.random.default_rng(seed)
    rows = random.integers(len(a), size=(replicates, len(a), 1))
    columns = random.integers(len(b), size=(replicates, 1, len(b)))
    return _estimate(float(wins.mean()), wins[rows, columns].mean(axis=(1, 2)), level, len(a) + len(b))


def rank_correlation(table: Mapping[str, Sequence[float]]) -> Float:
    """Spearman's between every two metrics: how alike they rank runs (Locatello et al. 2019).

    `table`: one value per run for each metric; one that never varies correlates 0 with others.

    >>> rank_correlation({"mig": [0.1, 0.2, 0.4], "sap": [1, 2, 3], "tc": [9, 5, 2]}).round(6)
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    from scipy.stats import rankdata

    runs = [_runs(values, name) for name, values in table.items()]
    if len({len(r) for r in runs}) != 1:
        raise HatchelError("rank_correlation: every metric needs one value for each run")
    ranks = rankdata(np.stack(runs), axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1))
    unit = centred / np.where(length > 0, length, 1.0)[:, None]
    matrix = unit @ unit.T
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _interquartile(values: Float) -> Float:
    """The mean of the middle half along the last axis (a quarter of the runs, rounded down, cut at each end)."""
    cut = values.shape[-1] // 4
    return np.sort(values, axis=-1)[..., cut : values.shape[-1] - cut].mean(axis=-1)


_CENTRES: Mapping[str, Callable[[Float], NDArray[np.float64]]] = {
    "median": lambda v: np.median(v, axis=-1),
    "interquartile": _interquartile,
}


def _runs(values: Sequence[float], name: str, least: int = 2) -> Float:
    result = np.asarray([float(v) for v in values], dtype=np.float64)
    if len(result) < least:
        raise HatchelError(f"{name}: {len(result)} runs; an interval needs at least {least}")
    if not np.isfinite(result).all():
        raise HatchelError(f"{name}: run {int(np.flatnonzero(~np.isfinite(result))[0])} is NaN or infinite")
    return result


def _estimate(value: float, replicates: Float, level: float, runs: int) -> Estimate:
    tail = 50 * (1 - _level(level))
    low, high = np.percentile(replicates, [tail, 100 - tail])
    return Estimate(value, float(low), float(high), runs, level)


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise HatchelError(f"level: expected a number between 0 and 1, got {level}")
    return level
