"""Figures: one function each, numbers in, a matplotlib Figure out."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from hatchel.metrics.heat_map import draw_heat_map
from hatchel.metrics.information import Float
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions
from hatchel.report.fits import Fit
from hatchel.report.style import ACCENT, INK, NORMAL, OTHERS, SMALL, bare, boxless, sheet, title

LEGEND: Mapping[str, Any] = {
    "frameon": False, "fontsize": SMALL, "labelcolor": INK, "handletextpad": 0.2, "columnspacing": 1.2,
}  # fmt: skip
LETTERS = 40
"""Of a title over half a figure; a longer one would run into its neighbour."""
LINES = 40
"""Dimensions drawn at most, the most informative ones."""
SETTLED = 0.05
"""The share of a run after which the range of a curve is read: the first steps are off any useful scale."""


def curves(events: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Float, Float]]:
    """The loss, its terms and the critics by name, each as (steps, values); a value that was not finite is NaN."""
    seen = dict.fromkeys(name for event in events for name in event)
    names = [n for n in seen if n == "loss" or n.startswith(("term/", "critic/"))]
    found: dict[str, tuple[Float, Float]] = {}
    for name in names:
        points = [(e["step"], math.nan if e[name] is None else e[name]) for e in events if name in e]
        steps, values = np.array(points, dtype=np.float64).T
        found[name.removeprefix("term/")] = steps, values
    return found


def losses(events: Sequence[Mapping[str, Any]], symbols: Mapping[str, str]) -> Figure:
    """The loss and every term over the steps, a panel each; `symbols` says what a term's name stands for."""
    drawn = curves(events)
    rows = math.ceil(len(drawn) / 2)
    figure = sheet(1.3 * rows + 0.25)
    panels = list(figure.subplots(rows, 2, squeeze=False, sharex=True).flat)
    for axes, (name, (steps, values)) in zip(panels, drawn.items(), strict=False):
        bare(axes, grid="y")
        axes.plot(steps, values, color=INK if name == "loss" else ACCENT, linewidth=1.3, solid_capstyle="round")
        settled = values[(steps >= SETTLED * steps[-1]) & np.isfinite(values)]
        if len(settled):
            margin = max(0.08 * np.ptp(settled), 1e-3 * abs(settled).max(), 1e-9)
            axes.set_ylim(settled.min() - margin, settled.max() + margin)
        axes.set_xlim(0, steps[-1])
        axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        text = textwrap.shorten(f"{name} = {symbols[name]}" if name in symbols else name, LETTERS, placeholder=" …")
        axes.set_title(text, loc="left", color=INK, fontsize=SMALL, pad=4)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(drawn) - 2) : len(drawn)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("steps")
    return figure


def information(dimensions: Dimensions) -> Figure:
    """I(x; z_d) of every dimension, the largest on top, with the factor it follows."""
    order = dimensions.order[:LINES]
    figure = sheet(0.26 * len(order) + 0.6)
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


def heat_map(matrix: Float, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Shares from 0 to 1, or correlations (D, K), a number in every cell; NaN stays empty."""
    figure = sheet(0.27 * len(rows) + 0.5)
    axes = boxless(figure.subplots())
    draw_heat_map(axes, matrix, rows, columns, NORMAL if len(columns) <= 8 else SMALL - 2)
    return figure


def by_factor(dimensions: Dimensions, matrix: Float) -> Figure:
    """A matrix (S, K) of shares, rows by information and named after the factor they follow."""
    order = dimensions.order[:LINES]
    return heat_map(matrix[order], [dimensions.label(d) for d in order.tolist()], list(dimensions.factors))


def factor_fits(fits: Sequence[Fit]) -> Figure:
    """Each continuous factor against the dimension that explains it best: mean and standard deviation at each value."""
    columns = min(3, len(fits))
    rows = math.ceil(len(fits) / columns)
    figure = sheet(1.75 * rows + 0.1)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, fit in zip(panels, fits, strict=False):
        bare(axes, grid="y")
        axes.fill_between(
            fit.values, fit.centre - fit.spread, fit.centre + fit.spread, color=ACCENT, alpha=0.22, linewidth=0
        )
        axes.plot(fit.values, fit.centre, color=ACCENT, linewidth=1.5)
        title(axes, f"R² {fit.score.value:.2f}")
        axes.set_ylabel(fit.name)
        axes.set_xlabel(fit.factor)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.yaxis.set_major_locator(MaxNLocator(4))
    for axes in panels[len(fits) :]:
        axes.set_visible(False)
    return figure


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
            axes.plot(
                score.value,
                row + shift,
                "o",
                color=colour,
                markersize=size,
                label=first,
                markeredgewidth=0,
                clip_on=False,
            )
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def score_chart(labels: Sequence[str], columns: Mapping[str, Sequence[Score | None]]) -> Figure:
    """The scores between 0 and 1 of a run and its controls."""
    figure = sheet(0.42 * len(labels) + 0.7)
    axes = figure.subplots()
    show_scores(axes, labels, columns)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(columns), **LEGEND)
    return figure
