"""The scores beside the controls, and the information of every dimension."""

from __future__ import annotations

from hatchel.report import figures
from hatchel.report.findings import HEADLINES, Findings
from hatchel.report.panels.panel import Drawing, panel


@panel("Scores and their intervals", place=10)
def chart(found: Findings) -> Drawing | None:
    """Scores between 0 and 1."""
    keys = found.bounded
    if not keys:
        return None
    labels = [h.label for h in HEADLINES if h.key in keys]
    sources = {found.run.spec.name: found, **{c.name: c.findings for c in found.controls}}
    columns = {name: [f.scores.get(k) for k in keys] for name, f in sources.items()}
    caption = "Dots are values, bars 95 % intervals; all lie between 0 and 1, and higher is better."
    return Drawing({"scores": figures.score_chart(labels, columns)}, caption)


@panel("Information per dimension", place=30)
def information(found: Findings) -> Drawing:
    """What each dimension says about the input."""
    hidden = len(found.dimensions.order) - figures.LINES
    caption = "How much each dimension says about the input"
    caption += f"; {hidden} less informative ones are not drawn." if hidden > 0 else "."
    if any(site.discrete for site in found.dimensions.sites):
        caption += " Of a class: the entropy of its mean probabilities less their mean entropy."
    if found.terms is not None:
        caption += " " + _information_terms(found)
    return Drawing({"information": figures.information(found.dimensions)}, caption)


def _information_terms(found: Findings) -> str:
    """The KL's parts in words."""
    assert found.terms is not None
    parts, latent = found.terms.parts, found.run.model.latent
    where = "In all" if latent.layout.continuous else "Of the real coordinates"
    text = f"{where}: I(x;z) {parts['mutual_information']:.2f}, TC {parts['total_correlation']:.2f}"
    if latent.prior_at(found.run.steps).standard:  # the metric compares with N(0, I)
        text += f", dimension-wise KL {parts['dimension_kl']:.2f}"
    limits = "".join(f"; {note.split(': ')[1]}" for note in found.terms.notes if "cannot exceed" in note)
    return f"{text} nats ({found.terms.settings['draws']} draws{limits})."
