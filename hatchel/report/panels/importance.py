"""DCI's importance matrix as a heat map."""

from __future__ import annotations

import numpy as np

from hatchel.metrics.information import Float
from hatchel.report import figures
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel


class Importance(Panel):
    """Which dimension a predictor of each factor relies on."""

    title = "Importance"
    place = 22

    def draw(self, found: Findings) -> Drawing | None:
        """Where DCI was measured."""
        score = found.scores.get("dci")
        if score is None or score.matrix is None:
            return None
        caption = (
            "How much a predictor of the factor (gradient-boosted trees, DCI) relies on each dimension; each column "
            f"sums to 1. Disentanglement {score.parts['disentanglement']:.3f}, completeness "
            f"{score.parts['completeness']:.3f}, informativeness {score.parts['informativeness']:.3f}."
        )
        matrix = site_importance(score.matrix, [s.columns for s in found.dimensions.sites])
        return Drawing({"importance": figures.by_factor(found.dimensions, matrix)}, caption)


def site_importance(matrix: Float, columns: list[tuple[int, ...]]) -> Float:
    """(D, K) -> (S, K): shares of one whole add up over the numbers of a class.

    >>> site_importance(np.array([[0.2], [0.3], [0.5]]), [(0, 1), (2,)]).tolist()
    [[0.5], [0.5]]
    """
    return np.stack([matrix[list(c)].sum(axis=0) for c in columns])
