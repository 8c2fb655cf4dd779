"""One dimension moved at a time."""

from __future__ import annotations

from markupsafe import Markup

from hatchel.report.dimensions import RANGE, Dimensions
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.pictures import mosaic, rows_figure, traversal_labels, traversals
from hatchel.report.style import pixels_uri
from hatchel.report.traversal import stops

STRIP = Markup(
    '<div class="strip"><div><b>{name}</b>{factor}\n<small>{detail}</small></div>\n'
    '<img class="pixels" src="{uri}" alt="Images while {name} moves {way}"></div>'
)


class Traversals(Panel):
    """A row of images for each dimension, the most informative first."""

    title = "Traversals"
    place = 91
    wide = True

    def draw(self, found: Findings) -> Drawing | None:
        """Of images."""
        if not found.pictured:
            return None
        images, counts = traversals(found.run, found)
        strips = [
            strip(found.dimensions, d, pixels_uri(mosaic(images[row : row + 1], counts=[counts[row]])))
            for row, d in enumerate(found.dimensions.order[: len(images)].tolist())
        ]
        low, high = (f"{100 * q:g} %" for q in RANGE)
        caption = (
            "Each row moves one dimension and keeps the others at the code of a typical item, the most informative "
            f"first. The range is that of the data: from the {low} to the {high} quantile of the posterior means. "
            "I = I(x; z_d) in nats."
        )
        figure = rows_figure(images, traversal_labels(found.dimensions, len(images)), counts)
        return Drawing({"traversals": figure}, caption, Markup("\n").join(strips))


def strip(dimensions: Dimensions, d: int, uri: str) -> Markup:
    """One row with what it shows."""
    way = f"from {dimensions.low[d]:.2f} to {dimensions.high[d]:.2f}"
    if dimensions.sites[d].discrete:
        last = len(dimensions.sites[d].columns) - 1
        way = "through its values " + ", ".join(f"{v * last:.0f}" for v in stops(dimensions, d))
    factor = dimensions.follows(d)
    return STRIP.format(
        name=dimensions.name(d),
        factor=Markup(" <span>{}</span>").format(factor) if factor else "",
        detail=f"I = {dimensions.information[d]:.2f}, {way}",
        uri=uri,
        way=way,
    )
