"""Figures: one function each, numbers in, a matplotlib Figure out."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hatchel.metrics.heat_map import draw_heat_map
from hatchel.metrics.information import Float
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions
from hatchel.report.fits import Fit
from hatchel.report.style import (
    ACCENT,
    INK,
    NORMAL,
    OTHERS,
    SMALL,
    bare,
    boxless,
    new_figure,
    small_multiples,
    step_axis,
    title,
)  # fmt: skip

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
    return {name.removeprefix("term/"): _curve(events, name) for name in names}


def readings(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, tuple[Float, Float]]]:
    """For each critic that has both, what it `read` and an `independent` reading, each as (steps, values)."""
    names = dict.fromkeys(n.partition("/")[2] for event in events for n in event if n.startswith("independent/"))
    return {
        n: {"read": _curve(events, f"reading/{n}"), "independent": _curve(events, f"independent/{n}")} for n in names
    }


def _curve(events: Sequence[Mapping[str, Any]], name: str) -> tuple[Float, Float]:
    points = [(e["step"], math.nan if e[name] is None else e[name]) for e in events if name in e]
    steps, values = np.array(points, dtype=np.float64).reshape(-1, 2).T
    return steps, values


def critics(drawn: Mapping[str, Mapping[str, tuple[Float, Float]]]) -> Figure:
    """A panel a critic with its reading and the independent one."""
    figure, panels = small_multiples(len(drawn), 2, 1.3, margin=0.25)
    for axes, (name, lines) in zip(panels, drawn.items(), strict=True):
        bare(axes, grid="y")
        for (label, (steps, values)), colour in zip(lines.items(), (ACCENT, INK), strict=True):
            axes.plot(steps, values, color=colour, linewidth=1.3, label=label)
        step_axis(axes)
        axes.legend(loc="best", **LEGEND)
        title(axes, name, SMALL)
    for axes in panels[-2:]:
        axes.set_xlabel("steps")
    return figure


def losses(events: Sequence[Mapping[str, Any]], symbols: Mapping[str, str]) -> Figure:
    """The loss and every term over the steps, a panel each; `symbols` says what a term's name stands for."""
    drawn = curves(events)
    figure, panels = small_multiples(len(drawn), 2, 1.3, margin=0.25)
    for axes, (name, (steps, values)) in zip(panels, drawn.items(), strict=True):
        bare(axes, grid="y")
        axes.plot(steps, values, color=INK if name == "loss" else ACCENT, linewidth=1.3)
        axes.set_xlim(0, steps[-1])
        step_axis(axes)
        settled_range(axes, values[steps >= SETTLED * steps[-1]])
        text = textwrap.shorten(f"{name} = {symbols[name]}" if name in symbols else name, LETTERS, placeholder=" …")
        title(axes, text, SMALL)
    for axes in panels[-2:]:
        axes.set_xlabel("steps")
    return figure


def settled_range(axes: Axes, values: Float) -> None:
    """Show the range of these values, with a margin; nothing where none is finite."""
    finite = values[np.isfinite(values)]
    if len(finite):
        margin = max(0.08 * np.ptp(finite), 1e-3 * abs(finite).max(), 1e-9)
        axes.set_ylim(finite.min() - margin, finite.max() + margin)


def information(dimensions: Dimensions) -> Figure:
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


def heat_map(matrix: Float, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Shares from 0 to 1, or correlations (D, K), a number in every cell; NaN stays empty."""
    figure = new_figure(0.27 * len(rows) + 0.5)
    axes = boxless(figure.subplots())
    draw_heat_map(axes, matrix, rows, columns, NORMAL if len(columns) <= 8 else SMALL - 2)
    return figure


def by_factor(dimensions: Dimensions, matrix: Float) -> Figure:
    """A matrix (S, K) of shares, rows by information and named after the factor they follow."""
    order = dimensions.order[:LINES]
    return heat_map(matrix[order], [dimensions.label(d) for d in order.tolist()], list(dimensions.factors))


def factor_fits(fits: Sequence[Fit]) -> Figure:
    """Each continuous factor against the dimension that explains it best: mean and standard deviation at each value."""
    figure, panels = small_multiples(len(fits), 3, 1.75, margin=0.1)
    for axes, fit in zip(panels, fits, strict=True):
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
