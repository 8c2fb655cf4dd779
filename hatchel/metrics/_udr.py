"""UDR: unsupervised disentanglement ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.spec import NonNegative, Positive

SWEEPS = 1000
"""Of the lasso over all dimensions, at most."""


class UDR(Metric):
    """How well a model's dimensions match those of other models one to one (Duan et al. 2020).

    For a pair of models with R = |similarity| of their dimensions: 1/(a + b) (sum_j r_j^2 / sum_i R_ij + sum_i r_i^2 /
    sum_j R_ij), r the largest of a column or row, sums over the a and b informative dimensions. The value is the median
    over the other models.
    """

    needs: ClassVar[tuple[str, ...]] = ("others",)

    similarity: Literal["spearman", "lasso"] = "spearman"
    "Rank correlation, or the weights of a lasso regression from one model's dimensions to the other's."
    threshold: NonNegative = 0.01
    "A dimension is informative if the variance of its mean exceeds this (the paper: if its KL does)."
    alpha: Positive = 0.1
    "Strength of the lasso's penalty, on standardised dimensions."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        assert probe.others is not None
        own = self._informative(probe.codes)
        values = [self._pair(own, self._informative(other)) for other in probe.others]
        parts = {f"model_{i + 1}": v for i, v in enumerate(values)}
        return self.result(probe, float(np.median(values)), parts=parts)

    def _informative(self, codes: Float) -> Float:
        return codes[:, codes.var(axis=0) > self.threshold]

    def _pair(self, left: Float, right: Float) -> float:
        count = left.shape[1] + right.shape[1]
        if not left.shape[1] or not right.shape[1]:
            return 0.0
        if self.similarity == "spearman":
            matrix = _correlation(_ranks(left), _ranks(right))
        else:
            matrix = _lasso(_standardised(left), _standardised(right), self.alpha)
        return (_dominance(matrix) + _dominance(matrix.T)) / count


def _dominance(matrix: Float) -> float:
    """sum over columns of (largest)^2 / sum of the column; 0 for a column of zeros."""
    total = matrix.sum(axis=0)
    return float((matrix.max(axis=0) ** 2 / np.where(total > 0, total, 1.0)).sum())


def _ranks(codes: Float) -> Float:
    from scipy.stats import rankdata

    return rankdata(codes, axis=0)


def _standardised(codes: Float) -> Float:
    return (codes - codes.mean(axis=0)) / codes.std(axis=0)


def _correlation(left: Float, right: Float) -> Float:
    return np.abs(_standardised(left).T @ _standardised(right)) / len(left)


def _lasso(left: Float, right: Float, alpha: float) -> Float:
    """(a, b): |w| of min 1/(2n) |right - left w|² + alpha |w|_1 for every column of `right`, by coordinate descent."""
    gram, target = left.T @ left / len(left), left.T @ right / len(left)
    weights = np.zeros_like(target)
    for _ in range(SWEEPS):
        before = weights.copy()
        for i in range(len(gram)):
            rest = target[i] - gram[i] @ weights + gram[i, i] * weights[i]
            weights[i] = np.sign(rest) * np.maximum(np.abs(rest) - alpha, 0.0) / gram[i, i]
        if np.abs(weights - before).max() < 1e-10:
            break
    return np.abs(weights)


def udr(
    codes: Any,
    others: Sequence[Any],
    *,
    similarity: Literal["spearman", "lasso"] = "spearman",
    threshold: float = 0.01,
    alpha: float = 0.1,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """UDR of `codes` (n, D) among other models' codes of the same n rows; see UDR.

    >>> z = np.random.default_rng(0).normal(size=(2000, 3))
    >>> float(udr(z, [-z[:, [2, 0, 1]]])) > 0.9  # the same dimensions in another order and sign
    True
    """
    return UDR(similarity, threshold, alpha).score(Probe(codes, others=others), seed, bootstrap)
