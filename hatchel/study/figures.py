"""Figures of studies: rows in, a matplotlib Figure out. Every point says over how many seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from hatchel.report.figures import LEGEND
from hatchel.report.style import ACCENT, INK, OTHERS, SMALL, WIDTH, bare, new_figure, title
from hatchel.study.rows import column, groups, measured
from hatchel.study.store import Label, Row

COLOURS: tuple[str, ...] = (ACCENT, *OTHERS[1:], OTHERS[0])
"""For one label after the other."""
MARKERS = ("o", "s", "^", "D")
"""Where the colours come round again."""
FEW = 5
"""Seeds below which quartiles say nothing: the dots and their mean are drawn without a box."""
KEY: Mapping[str, Any] = {**LEGEND, "handletextpad": 0.5, "handlelength": 1.8}
"""A legend of lines, which would touch their names."""


def boxes(
    rows: Sequence[Row],
    value: str,
    by: str,
    heading: str = "",
    published: Mapping[str, float] | None = None,
    shape: Literal["box", "violin"] = "box",
) -> Figure:
    """A line for each value of a label: every seed a dot, the mean a stroke; from five seeds on a box or a violin.

    The paper's figure, where there is one, is a hollow diamond.
    """
    found = {str(key): column(group, value) for (key,), group in groups(rows, by).items()}
    names = [name for name, values in found.items() if values]
    figure = new_figure(0.34 * len(names) + (1.0 if published else 0.75))
    axes = bare(figure.subplots(), grid="x")
    for place, name in enumerate(names):
        values = np.array(found[name])
        if 1 < len(values) < FEW:
            axes.plot([values.mean()] * 2, [place - 0.25, place + 0.25], color=INK, linewidth=1.6)
        elif len(values) >= FEW and shape == "violin":
            drawn: Any = axes.violinplot(values, [place], orientation="horizontal", widths=0.8, showextrema=False)
            for body in drawn["bodies"]:
                body.set(facecolor=ACCENT, alpha=0.25)
        elif len(values) >= FEW:
            axes.boxplot(
                values, positions=[place], orientation="horizontal", widths=0.5, showfliers=False,
                medianprops={"color": ACCENT, "linewidth": 1.6}, boxprops={"color": INK, "linewidth": 0.8},
                whiskerprops={"color": INK, "linewidth": 0.8}, capprops={"color": INK, "linewidth": 0.8},
            )  # fmt: skip
        axes.plot(values, np.full(len(values), place), "o", color=ACCENT, markersize=4, alpha=0.75)
        if published and name in published:
            axes.plot(published[name], place, "D", color=INK, markersize=5, fillstyle="none")
    axes.set_yticks(range(len(names)), [f"{n}  (n={len(found[n])})" for n in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    if published:
        axes.plot([], [], "D", color=INK, markersize=5, fillstyle="none", label="the paper's")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), **LEGEND)
    axes.set_xlabel(heading or value)
    return figure


def scatter(rows: Sequence[Row], x: str, y: str, by: str, headings: tuple[str, str] | None = None) -> Figure:
    """One value against another, a dot a cell, a colour a label."""
    found = groups(rows, by)
    figure = new_figure(_height(len(found)))
    axes = bare(figure.subplots(), grid="both")
    for i, ((key,), group) in enumerate(found.items()):
        kept = [r for r in group if x in r.values and y in r.values]
        axes.plot(
            [r.values[x] for r in kept], [r.values[y] for r in kept], MARKERS[i // len(COLOURS) % len(MARKERS)],
            color=COLOURS[i % len(COLOURS)], markersize=5, alpha=0.85, label=f"{key} (n={len(kept)})",
        )  # fmt: skip
    _legend(axes)
    axes.set_xlabel(headings[0] if headings else x)
    axes.set_ylabel(headings[1] if headings else y)
    return figure


def lines(
    rows: Sequence[Row],
    x: str,
    value: str | Mapping[str, str],
    by: str,
    headings: tuple[str, str] | None = None,
    truth: Mapping[float, float] | None = None,
    log: bool = False,
) -> Figure:
    """A value (or several with what they are called, dashed after the first) against a numeric label.

    The band is the interval over seeds.
    """
    names = {value: value} if isinstance(value, str) else value
    found = groups(rows, by)
    figure = new_figure(_height(len(found) * len(names)))
    axes = bare(figure.subplots(), grid="both")
    if truth:
        axes.plot(list(truth), list(truth.values()), color=INK, linewidth=2.4, alpha=0.3, label="truth")
    for i, ((key,), group) in enumerate(found.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i // len(COLOURS) % len(MARKERS)]
        for style, (name, called) in zip(("-", "--", ":"), names.items(), strict=False):
            points = {float(k): m for (k,), g in groups(group, x).items() if (m := measured(g, name))}
            at = sorted(points)
            lows = [points[p].value if points[p].low is None else points[p].low for p in at]
            highs = [points[p].value if points[p].high is None else points[p].high for p in at]
            label = _called(by, key) if len(names) == 1 else called if not by else f"{_called(by, key)}: {called}"
            axes.plot(
                at, [points[p].value for p in at], style, marker=marker, markersize=3.5, color=colour, label=label
            )
            axes.fill_between(at, np.array(lows, float), np.array(highs, float), color=colour, alpha=0.15, linewidth=0)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    _legend(axes)
    axes.set_xlabel(headings[0] if headings else x)
    axes.set_ylabel(headings[1] if headings else ", ".join(names.values()))
    return figure


def curves(rows: Sequence[Row], value: str, by: str, heading: str = "") -> Figure:
    """A value over training, from the cells' snapshots: the mean over seeds, its range as a band."""
    found = groups(rows, by)
    figure = new_figure(_height(len(found)))
    axes = bare(figure.subplots(), grid="both")
    for colour, ((key,), group) in zip(_cycle(), found.items(), strict=False):
        drawn = [np.array(r.details["curves"][value]) for r in group if value in r.details.get("curves", {})]
        if not drawn:
            continue
        steps, stack = drawn[0][:, 0], np.stack([d[:, 1] for d in drawn])
        axes.plot(steps, stack.mean(axis=0), color=colour, marker="o", markersize=3, label=f"{key} (n={len(drawn)})")
        axes.fill_between(steps, stack.min(axis=0), stack.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    _legend(axes)
    axes.set_xlabel("steps")
    axes.set_ylabel(heading or value)
    return figure


def heat(
    matrix: Sequence[Sequence[float | None]], rows: Sequence[str], columns: Sequence[str], heading: str = ""
) -> Figure:
    """Numbers in a grid, a colour each; what is missing stays empty."""
    from hatchel.report.figures import heat_map

    values = np.array([[np.nan if v is None else v for v in line] for line in matrix], dtype=np.float64)
    figure = heat_map(values, rows, columns)
    if heading:
        title(figure.axes[0], heading)
    return figure


def grid_of(panels: Mapping[str, Any], each: Any, across: int = 3, height: float = 2.0, width: float = WIDTH) -> Figure:
    """A panel for each entry: `each(axes, entry)` draws it, its name is the title."""
    down = -(-len(panels) // across)
    figure = new_figure(height * down, width)
    all_axes = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, (name, entry) in zip(all_axes, panels.items(), strict=False):
        bare(axes)
        each(axes, entry)
        axes.set_title(name, loc="left", color=INK, fontsize=SMALL, pad=4)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    return figure


def _cycle() -> list[str]:
    return list(COLOURS) * 4


def _legend(axes: Axes) -> None:
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if len(handles) > 1 else 1, **KEY)


def _height(entries: int) -> float:
    """Inches: room for the axes, and for a legend of so many entries in two columns."""
    return 2.8 + 0.17 * -(-entries // 2)


def _called(by: str, key: Label) -> str:
    """A label's value, and its name where the value is a number."""
    return str(key) if isinstance(key, str) else f"{by} = {key:g}"
