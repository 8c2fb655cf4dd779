"""Each continuous factor against its best dimension."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel


class Positions(Panel):
    """A line for each factor that has an order."""

    title = "Continuous factors and their best active dimension"
    place = 40

    def draw(self, found: Findings) -> Drawing | None:
        """Where there is such a factor."""
        if not found.fits:
            return None
        caption = (
            "Mean of the dimension at each value of the factor, with one standard deviation over everything else. "
            "R² is that of a straight line."
        )
        return Drawing({"positions": figures.factor_fits(found.fits)}, caption)
