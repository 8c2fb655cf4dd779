"""Originals and what comes back through the code."""

from __future__ import annotations

from markupsafe import Markup

from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.pictures import mosaic, reconstruction_labels, reconstructions, rows_figure
from hatchel.report.style import pixels_uri

IMAGE = Markup('<img class="pixels" src="{}" alt="{}">')


class Reconstructions(Panel):
    """A few items drawn at random."""

    title = "Reconstructions"
    place = 90
    wide = True

    def draw(self, found: Findings) -> Drawing | None:
        """Of images."""
        if not found.pictured:
            return None
        images = reconstructions(found)
        levels = found.run.levels
        way = "the mean code" if levels == 1 else f"the mean codes of levels 0 to {levels - 1}"
        alt = "A row of original images above " + ("the row" if levels == 1 else "rows") + " of their reconstructions"
        body = IMAGE.format(pixels_uri(mosaic(images)), alt)
        figure = rows_figure(images, reconstruction_labels(levels))
        return Drawing(
            {"reconstructions": figure}, f"Above: items drawn at random. Below: the same through {way} and back.", body
        )
