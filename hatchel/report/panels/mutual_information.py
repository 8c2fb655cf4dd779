"""I(z_d; v_k) / H(v_k) as a heat map."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.dimensions import ACTIVE, FOLLOWS
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel


class MutualInformation(Panel):
    """Which dimension knows how much of which factor."""

    title = "Mutual information"
    place = 20

    def draw(self, found: Findings) -> Drawing | None:
        """Where factors are known."""
        if found.dimensions.shares is None:
            return None
        caption = (
            "I(z_d; v_k) / H(v_k), the matrix behind MIG. Rows by information; a row is named after the factor of "
            f"which it carries most, if that is {FOLLOWS:.0%} or more and the dimension is active at all "
            f"(I(x; z_d) ≥ {ACTIVE}). The mean of an inactive dimension may still follow a factor, by far less than "
            "its noise; these scores count it."
        )
        return Drawing({"mutual_information": figures.by_factor(found.dimensions, found.dimensions.shares)}, caption)
