"""Images: reconstructions, one dimension moved at a time, draws of the prior."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from hatchel.data.table import decoded_frame
from hatchel.metrics._reconstruction import Reconstruction
from hatchel.metrics.score import PARTS
from hatchel.report import columns
from hatchel.report.dimensions import RANGE, Dimensions
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.pictures import (
    ROWS,
    SHOWN,
    Images,
    decoded,
    group_codes,
    mosaic,
    reconstructed,
    reconstruction_labels,
    rows_figure,
    stops,
    to_bytes,
    traversal_labels,
    traversed,
    typical,
)  # fmt: skip
from hatchel.report.style import pixels_uri

IMAGE = Markup('<img class="pixels" src="{}" alt="{}">')
STRIP = Markup(
    '<div class="strip"><div><b>{name}</b>{factor}\n<small>{detail}</small></div>\n'
    '<img class="pixels" src="{uri}" alt="Images while {name} moves {way}"></div>'
)
ROW = Markup(
    '<div class="strip"><div><b>{name}</b></div>\n<img class="pixels" src="{uri}" alt="Samples: {name}"></div>'
)


@panel("Reconstructions", place=2, wide=True)
def reconstructions(found: Findings) -> Drawing | None:
    """A few items drawn at random; of a table, column by column."""
    if not found.pictured:
        if not found.run.columns:
            return None
        caption = (
            "Each column through the mean code and back: originals across, what comes back upwards. R² is that of the "
            "numbers; elsewhere the share of items whose likelier value is the right one."
        )
        return Drawing({"reconstructions": columns.reconstructions(found)[0]}, caption)
    images = reconstructed(found)
    levels = found.run.levels
    way = "the mean code" if levels == 1 else f"the mean codes of levels 0 to {levels - 1}"
    alt = "A row of original images above " + ("the row" if levels == 1 else "rows") + " of their reconstructions"
    body = IMAGE.format(pixels_uri(mosaic(images)), alt)
    figure = rows_figure(images, reconstruction_labels(levels))
    caption = f"Above: items drawn at random. Below: the same through {way} and back."
    score = found.stored.measure("mean", [Reconstruction()], bootstrap=0).get("reconstruction")
    if score is not None:
        parts = (f"{words} {score.parts[name]:.4g}" for name, words in PARTS.items() if name in score.parts)
        caption += f" Reconstruction of all {score.n:,}, in nats per image: {', '.join(parts)}."
    return Drawing({"reconstructions": figure}, caption, body)


@panel("Traversals", place=1, wide=True)
def traversals(found: Findings) -> Drawing | None:
    """A row of images for each dimension, the most informative first; of a table, small plots of its columns."""
    rows = min(ROWS, len(found.dimensions.active) or ROWS, len(found.dimensions.order))
    if not found.pictured:
        if not found.run.columns:
            return None
        caption = (
            "Each row moves one dimension over the range of the data, the others kept at the code of a typical item, "
            "the most informative first. Each plot is a column of the table, those that move most: its mean, or the "
            "probability of each value."
        )
        if hidden := len(found.dimensions.order) - rows:
            caption += f" Not shown: {hidden} that say{'s' * (hidden == 1)} less."
        return Drawing({"traversals": columns.traversals(found, rows)[0]}, caption)
    images, counts = traversed(found.run, found, rows)
    low, high = (f"{100 * q:g} %" for q in RANGE)
    caption = (
        "Each row moves one dimension and keeps the others at the code of a typical item, the most informative "
        f"first. The range is that of the data: from the {low} to the {high} quantile of the posterior means. "
        "I = I(x; z_d) in nats."
    )
    if hidden := len(found.dimensions.order) - len(images):
        caption += f" Not shown: {hidden} that say{'s' * (hidden == 1)} less."
    figure = rows_figure(images, traversal_labels(found.dimensions, len(images)), counts)
    return Drawing({"traversals": figure}, caption, strips(found.dimensions, images, counts))


def strips(dimensions: Dimensions, images: Images, counts: list[int]) -> Markup:
    """The rows of a traversal (R, n, H, W, C), of which so many images each are meant."""
    rows = enumerate(dimensions.order[: len(images)].tolist())
    return Markup("\n").join(
        strip(dimensions, d, pixels_uri(mosaic(images[row : row + 1], counts=[counts[row]]))) for row, d in rows
    )


def three_digits(number: float) -> str:
    """As a person writes it.

    >>> three_digits(1736.2), three_digits(69.37), three_digits(0.0012345)
    ('1,740', '69.4', '0.00123')
    """
    text = f"{number:.3g}"
    return f"{float(text):,.0f}" if abs(float(text)) >= 1000 else text


def strip(dimensions: Dimensions, d: int, uri: str) -> Markup:
    """One row with what it shows."""
    way = f"from {dimensions.low[d]:z.2f} to {dimensions.high[d]:z.2f}"
    if dimensions.sites[d].discrete:
        last = len(dimensions.sites[d].columns) - 1
        way = "through its values " + ", ".join(f"{v * last:.0f}" for v in stops(dimensions, d))
    factor = dimensions.follows(d)
    return STRIP.format(
        name=dimensions.name(d),
        factor=Markup(" <span>{}</span>").format(factor) if factor else "",
        detail=f"I = {dimensions.information[d]:z.2f}, {way}",
        uri=uri,
        way=way,
    )


@panel("Samples from the prior", place=92, wide=True)
def prior_samples(found: Findings) -> Drawing | None:
    """z ~ p(z): everything at once, at each level of a hierarchy, and one group at a time where there are several."""
    if not found.pictured:
        if not found.run.columns:
            return None
        drawn = decoded_frame(found.run.sample(8)[1], found.run.columns)
        table = Markup(drawn.to_html(index=False, border=0, float_format=three_digits))
        return Drawing({}, "Decoded draws of z ~ p(z): the mean of a number, else the likeliest value.", table)
    rows = sample_rows(found)
    parts = [ROW.format(name=name, uri=pixels_uri(mosaic(images[None]))) for name, images in rows.items()]
    prior = found.run.model.latent.prior_at(found.run.steps)
    caption = "Decoded draws of z ~ p(z)" + (", as the run has learned it." if prior.learned else ".")
    if found.run.levels > 1:
        caption += " The same draws at each level."
    if len({site.group for site in found.dimensions.sites}) > 1:
        caption += " Below: one group drawn, all others kept at the code of a typical item."
    figure = rows_figure(np.stack(list(rows.values())), list(rows))
    return Drawing({"prior_samples": figure}, caption, Markup("\n").join(parts))


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
