"""The scores beside the controls, and the information of every dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import HEADLINES, Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.style import ACCENT, INK, LEGEND, OTHERS, SMALL, bare, new_figure

LINES = 40
"""Dimensions drawn at most, the most informative ones."""


@panel("Scores and their intervals", place=31)
def chart(found: Findings) -> Drawing | None:
    """Scores between 0 and 1."""
    keys = found.bounded
    if not keys:
        return None
    labels = [h.label for h in HEADLINES if h.key in keys]
    sources = {found.run.spec.name: found, **{c.name: c.findings for c in found.controls}}
    columns = {name: [f.scores.get(k) for k in keys] for name, f in sources.items()}
    caption = "Dots are values, bars 95 % intervals; all lie between 0 and 1, and higher is better."
    return Drawing({"scores": score_chart(labels, columns)}, caption)


def show_scores(axes: Axes, labels: Sequence[str], columns: Mapping[str, Sequence[Score | None]]) -> None:
    """Dots with their intervals on given axes: a line for each label, a colour for each column, the first in accent."""
    bare(axes, grid="x")
    colours = (ACCENT, *OTHERS)
    count = len(columns)
    for i, (name, scores) in enumerate(columns.items()):
        colour = colours[i % len(colours)]
        shift = (i - (count - 1) / 2) * 0.2
        for row, score in enumerate(scores):
            if score is None:
                continue
            if score.interval:
                ends = (score.interval.low, score.interval.high)
                axes.plot(ends, (row + shift, row + shift), color=colour, linewidth=2, solid_capstyle="round")
            size = 6.5 if i == 0 else 5
            first = name if row == 0 else "_"
            axes.plot(score.value, row + shift, "o", color=colour, markersize=size, label=first, markeredgewidth=0,
                      clip_on=False)  # fmt: skip
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def score_chart(labels: Sequence[str], columns: Mapping[str, Sequence[Score | None]]) -> Figure:
    """The scores between 0 and 1 of a run and its controls."""
    figure = new_figure(0.42 * len(labels) + 0.7)
    axes = figure.subplots()
    show_scores(axes, labels, columns)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(columns), **LEGEND)
    return figure


@panel("Information per dimension", place=30)
def information(found: Findings) -> Drawing:
    """What each dimension says about the input."""
    hidden = len(found.dimensions.order) - LINES
    caption = "How much each dimension says about the input"
    caption += f"; {hidden} less informative ones are not drawn." if hidden > 0 else "."
    if any(site.discrete for site in found.dimensions.sites):
        caption += " Of a class: the entropy of its mean probabilities less their mean entropy."
    if found.terms is not None:
        caption += " " + _information_terms(found)
    return Drawing({"information": information_figure(found.dimensions)}, caption)


def _information_terms(found: Findings) -> str:
    """The KL's parts in words."""
    assert found.terms is not None
    parts, latent = found.terms.parts, found.run.model.latent
    where = "In all" if latent.layout.continuous else "Of the real coordinates"
    text = f"{where}: I(x;z) {parts['mutual_information']:z.2f}, TC {parts['total_correlation']:z.2f}"
    if latent.prior_at(found.run.steps).standard:  # the metric compares with N(0, I)
        text += f", dimension-wise KL {parts['dimension_kl']:z.2f}"
    limits = "".join(f"; {note.split(': ')[1]}" for note in found.terms.notes if "cannot exceed" in note)
    return f"{text} nats ({found.terms.settings['draws']} draws{limits})."


def information_figure(dimensions: Dimensions) -> Figure:
    """I(x; z_d) of every dimension, the largest on top, with the factor it follows."""
    order = dimensions.order[:LINES]
    figure = new_figure(0.26 * len(order) + 0.6)
    axes = bare(figure.subplots(), grid="x")
    values = dimensions.information[order].clip(0)
    axes.barh(np.arange(len(order)), values, height=0.68, color=ACCENT)
    for row, value in enumerate(values.tolist()):
        axes.annotate(
            f"{value:.2f}", (value, row), (3, 0), textcoords="offset points", va="center", fontsize=SMALL, color=INK
        )
    axes.set_yticks(np.arange(len(order)), [dimensions.label(d) for d in order.tolist()])
    axes.invert_yaxis()
    axes.set_xlim(0, max(float(values.max()) * 1.12, 0.1))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("I(x; z_d), nats")
    return figure
