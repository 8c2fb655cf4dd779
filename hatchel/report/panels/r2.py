"""R² of every factor and dimension as a heat map."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.findings import Findings
from hatchel.report.fits import r2_matrix
from hatchel.report.panels.panel import Drawing, Panel


class R2(Panel, kind="r2"):
    """Which dimension explains how much of which factor on a straight line (Cheng et al. 2020, Fig. 8, left)."""

    title = "R²"
    place = 21

    def draw(self, found: Findings) -> Drawing | None:
        """Where factors are known."""
        space = found.run.data.space
        if space is None or found.dimensions.shares is None:
            return None
        caption = (
            "Squared correlation of each factor with each dimension: what a straight line explains. Of a factor "
            "without an order (a shape) the number of the value is taken, of a cyclic one its angle, so that low "
            "values there say little. Little here and much mutual information: a relation that is not a line."
        )
        matrix = r2_matrix(found.probe, space, found.dimensions.sites)
        return Drawing({"r2": figures.by_factor(found.dimensions, matrix)}, caption)
