"""The scores as dots with intervals, beside the controls."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.findings import HEADLINES, Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.poster import bounded


class Chart(Panel):
    """Scores between 0 and 1."""

    title = "Scores and their intervals"
    place = 10

    def draw(self, found: Findings) -> Drawing | None:
        """Of the run and its controls."""
        keys = bounded(found)
        if not keys:
            return None
        labels = [h.label for h in HEADLINES if h.key in keys]
        sources = {found.run.spec.name: found, **{c.name: c.findings for c in found.controls}}
        columns = {name: [f.scores.get(k) for k in keys] for name, f in sources.items()}
        caption = "Dots are values, bars 95 % intervals; all lie between 0 and 1, and higher is better."
        return Drawing({"scores": figures.score_chart(labels, columns)}, caption)
