"""Images decoded from draws of the prior."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.pictures import SHOWN, Images, decoded, mosaic, rows_figure, to_bytes
from hatchel.report.priors import group_codes
from hatchel.report.style import pixels_uri
from hatchel.report.traversal import typical

ROW = Markup(
    '<div class="strip"><div><b>{name}</b></div>\n<img class="pixels" src="{uri}" alt="Samples: {name}"></div>'
)


class PriorSamples(Panel):
    """z ~ p(z): everything at once, at each level of a hierarchy, and one group at a time where there are several."""

    title = "Samples from the prior"
    place = 92
    wide = True

    def draw(self, found: Findings) -> Drawing | None:
        """Of images."""
        if not found.pictured:
            return None
        rows = sample_rows(found)
        strips = [ROW.format(name=name, uri=pixels_uri(mosaic(images[None]))) for name, images in rows.items()]
        prior = found.run.model.latent.prior_at(found.run.steps)
        caption = "Decoded draws of z ~ p(z)" + ("." if not prior.learned else ", as the run has learned it.")
        if found.run.levels > 1:
            caption += " The same draws at each level."
        if len({site.group for site in found.dimensions.sites}) > 1:
            caption += " Below: one group drawn, all others kept at the code of a typical item."
        figure = rows_figure(np.stack(list(rows.values())), list(rows))
        return Drawing({"prior_samples": figure}, caption, Markup("\n").join(strips))


def sample_rows(found: Findings, count: int = SHOWN, seed: int = 0) -> dict[str, Images]:
    """By what was drawn: images (n, H, W, C)."""
    run, variables = found.run, found.dimensions.sites
    if run.levels > 1:
        return {f"level {i}": to_bytes(run.sample(count, seed, i)[1]) for i in range(run.levels)}
    codes, images = run.sample(2 * count, seed)
    groups = list(dict.fromkeys(site.group for site in variables))
    rows = {"everything": to_bytes(images[:count]), "everything, again": to_bytes(images[count:])}
    if len(groups) > 1:
        start = typical(found.probe.codes, found.dimensions)
        alone = {f"{g} alone": group_codes(codes[:count], start, variables, g) for g in groups}
        rows |= {name: decoded(run, c[None])[0] for name, c in alone.items()}
    return rows
