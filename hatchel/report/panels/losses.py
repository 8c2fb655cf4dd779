"""The loss and its terms over the steps."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.training.events import read_events


class Losses(Panel):
    """What training reported of itself."""

    title = "Loss and terms over the steps"
    place = 60

    def draw(self, found: Findings) -> Drawing | None:
        """Where there are events."""
        events = read_events(found.run.folder) if found.run.steps else []
        if not events:
            return None
        symbols = {name: entry.term.symbol() for name, entry in found.run.spec.objective.items()}
        first = f"the first {figures.SETTLED:.0%} of the steps may leave the frame"
        caption = f"Unweighted batch means in nats per item; {first}."
        return Drawing({"losses": figures.losses(events, symbols)}, caption)
