"""UDR: unsupervised disentanglement ranking."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import NonNegative, Positive
from hatchel.metrics.information import Float, prior_divergence, standardised
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class UDR(Metric):
    """How well a model's dimensions match those of other models one to one (Duan et al. 2020).

    For a pair of models with R = |similarity| of their dimensions: 1/(a + b) (sum_j r_j^2 / sum_i R_ij + sum_i r_i^2 /
    sum_j R_ij), r the largest of a column or row, sums over the a and b informative dimensions. The value is the median
    over the other models. The paper calls a dimension informative by its mean KL(q(z_d|x) || N(0, 1)), for which the
    deviations of all models are needed; without them there is the variance of its mean.

    >>> import numpy as np
    >>> from hatchel.metrics import udr
    >>> z = np.random.default_rng(0).normal(size=(2000, 3))
    >>> float(udr(z, [-z[:, [2, 0, 1]]])) > 0.9  # the same dimensions in another order and sign
    True
    """

    needs = ("others",)
    accepts = ("std",)
    also_needs = {("informative", "kl"): "others_std"}  # noqa: RUF012

    similarity: Literal["spearman", "lasso"] = "spearman"
    "Rank correlation, or the weights of a lasso regression from one model's dimensions to the other's."
    threshold: NonNegative = 0.01
    "What an informative dimension's variance or KL exceeds."
    alpha: Positive = 0.1
    "Strength of the lasso's penalty, on standardised dimensions."
    informative: Literal["variance", "kl"] = "variance"
    "By the variance of the mean, or by the KL as in the paper, which needs deviations."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        assert probe.others is not None
        if self.informative == "kl" and probe.std is None:
            raise HatchelError("udr: informative='kl' needs std, the deviations of the codes")
        own = self._chosen(probe.codes, probe.std)
        stds = probe.others_std or (None,) * len(probe.others)
        others = [self._chosen(codes, std) for codes, std in zip(probe.others, stds, strict=True)]
        values = [self._pair(own, other) for other in others]
        parts = {f"model_{i + 1}": v for i, v in enumerate(values)}
        return self.result(probe, float(np.median(values)), parts=parts)

    def _chosen(self, codes: Float, std: Float | None) -> Float:
        if self.informative == "variance" or std is None:
            return codes[:, codes.var(axis=0) > self.threshold]
        kl = prior_divergence(codes, std)
        # A dimension may cost KL and yet be the same for every row: nothing can be ranked by it.
        return codes[:, (kl > self.threshold) & (codes.std(axis=0) > 0)]

    def _pair(self, left: Float, right: Float) -> float:
        count = left.shape[1] + right.shape[1]
        if not left.shape[1] or not right.shape[1]:
            return 0.0
        matrix = rank_correlations(left, right) if self.similarity == "spearman" else _lasso(left, right, self.alpha)
        return (_dominance(matrix) + _dominance(matrix.T)) / count


def _dominance(matrix: Float) -> float:
    """sum over columns of (largest)^2 / sum of the column; 0 for a column of zeros."""
    total = matrix.sum(axis=0)
    return float((matrix.max(axis=0) ** 2 / np.where(total > 0, total, 1.0)).sum())


def rank_correlations(left: Float, right: Float) -> Float:
    """|Spearman's correlation| of every column of one with every column of the other."""
    from scipy.stats import rankdata  # slow to import

    def ranks(codes: Float) -> Float:
        result = np.empty(codes.shape)
        for d, column in enumerate(codes.T):  # one by one, and in place: ranking all at once takes four more copies
            result[:, d] = rankdata(column)
        spread = result.std(axis=0)
        result -= result.mean(axis=0)
        result /= np.where(spread > 0, spread, 1.0)
        return result

    return np.abs(ranks(left).T @ ranks(right)) / len(left)


def _lasso(left: Float, right: Float, alpha: float) -> Float:
    """(a, b): |w| of min 1/(2n) |right - left w|² + alpha |w|_1 for every column of `right`, standardised."""
    from sklearn.linear_model import Lasso  # slow to import

    model: Any = Lasso(alpha=alpha, precompute=True, tol=1e-10, max_iter=10_000)
    return np.abs(model.fit(standardised(left), standardised(right)).coef_.reshape(right.shape[1], -1)).T
