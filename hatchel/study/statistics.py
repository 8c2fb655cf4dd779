"""Statistics for comparing methods: intervals over seeds, paired differences, who wins, which metrics agree.

Intervals over the rows of one data set come with the metrics themselves (`bootstrap=200`); these are over runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate

Float = NDArray[np.float64]
Centre = Literal["mean", "median", "interquartile"]


def over_seeds(
    values: Sequence[float], *, centre: Centre = "mean", level: float = 0.95, replicates: int = 2000, seed: int = 0
) -> Estimate:
    """The mean (or median, or interquartile mean: Agarwal et al. 2021) of runs that differ in their seed.

    >>> print(over_seeds([0.2, 0.3, 0.25, 0.35]))
    0.2750 [0.2250, 0.3250]
    """
    runs = _runs(values, "values")
    draws = np.random.default_rng(seed).integers(len(runs), size=(replicates, len(runs)))
    statistic = _CENTRES[centre]
    return _estimate(float(statistic(runs[None])[0]), statistic(runs[draws]), level, len(runs))


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    centre: Centre = "mean",
    level: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Estimate:
    """first - second over runs that share seed and data pairwise: what the seeds have in common cancels.

    >>> float(paired_difference([1.5, 2.5, 3.5], [1.0, 2.0, 3.0]))
    0.5
    """
    a, b = _runs(first, "first"), _runs(second, "second")
    if len(a) != len(b):
        raise HatchelError(f"paired_difference: {len(a)} and {len(b)} runs; pairs need as many of each")
    return over_seeds((a - b).tolist(), centre=centre, level=level, replicates=replicates, seed=seed)


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


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation between every two metrics over the same runs (Locatello et al. 2019)."""

    names: tuple[str, ...]
    matrix: Float  # (metrics, metrics)
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """{metric: {metric: correlation}}."""
        rows = self.matrix.tolist()
        return {name: dict(zip(self.names, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}


def rank_correlation(table: Mapping[str, Sequence[float]]) -> RankCorrelation:
    """How alike metrics rank runs: {metric: one value per run}; a metric that never varies correlates 0 with others.

    >>> rank_correlation({"mig": [0.1, 0.2, 0.4], "sap": [1, 2, 3], "tc": [9, 5, 2]}).matrix.round(6)
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
    return RankCorrelation(tuple(table), matrix, ranks.shape[1])


def _interquartile(values: Float) -> Float:
    """The mean of the middle half along the last axis (a quarter of the runs, rounded down, cut at each end)."""
    cut = values.shape[-1] // 4
    return np.sort(values, axis=-1)[..., cut : values.shape[-1] - cut].mean(axis=-1)


_CENTRES: Mapping[str, Callable[[Float], NDArray[np.float64]]] = {
    "mean": lambda v: v.mean(axis=-1),
    "median": lambda v: np.median(v, axis=-1),
    "interquartile": _interquartile,
}


def _runs(values: Sequence[float], name: str) -> Float:
    result = np.asarray([float(v) for v in values], dtype=np.float64)
    if len(result) < 2:
        raise HatchelError(f"{name}: {len(result)} runs; an interval needs at least 2")
    if not np.isfinite(result).all():
        raise HatchelError(f"{name}: run {int(np.flatnonzero(~np.isfinite(result))[0])} is NaN or infinite")
    return result


def _estimate(value: float, replicates: Float, level: float, runs: int) -> Estimate:
    if not 0 < level < 1:
        raise HatchelError(f"level: expected a number between 0 and 1, got {level}")
    tail = 50 * (1 - level)
    low, high = np.percentile(replicates, [tail, 100 - tail])
    return Estimate(value, float(low), float(high), runs, level)
