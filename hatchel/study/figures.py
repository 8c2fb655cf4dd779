"""Figures of studies: rows in, a matplotlib Figure out. Every point says over how many seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hatchel.report.figures import LEGEND
from hatchel.report.style import ACCENT, INK, OTHERS, SMALL, WIDTH, bare, sheet, title
from hatchel.study.rows import column, groups, measured
from hatchel.study.store import Row

COLOURS: tuple[str, ...] = (ACCENT, *OTHERS[1:], OTHERS[0])
"""For one label after the other."""


def boxes(
    rows: Sequence[Row], value: str, by: str, heading: str = "", published: Mapping[str, float] | None = None
) -> Figure:
    """A box for each value of a label, every seed a dot; the paper's figure, where there is one, a hollow diamond."""
    found = {str(key): column(group, value) for (key,), group in groups(rows, by).items()}
    names = [name for name, values in found.items() if values]
    figure = sheet(0.34 * len(names) + 0.85)
    axes = bare(figure.subplots(), grid="x")
    for place, name in enumerate(names):
        values = np.array(found[name])
        if len(values) > 2:
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
    figure = sheet(3.1)
    axes = bare(figure.subplots(), grid="both")
    for colour, ((key,), group) in zip(_cycle(), groups(rows, by).items(), strict=False):
        kept = [r for r in group if x in r.values and y in r.values]
        axes.plot(
            [r.values[x] for r in kept], [r.values[y] for r in kept], "o", color=colour, markersize=5, alpha=0.85,
            label=f"{key} (n={len(kept)})",
        )  # fmt: skip
    _legend(axes)
    axes.set_xlabel(headings[0] if headings else x)
    axes.set_ylabel(headings[1] if headings else y)
    return figure


def lines(
    rows: Sequence[Row],
    x: str,
    value: str | Sequence[str],
    by: str,
    headings: tuple[str, str] | None = None,
    truth: Mapping[float, float] | None = None,
    log: bool = False,
) -> Figure:
    """A value (or several, dashed after the first) against a numeric label, with its interval over seeds."""
    names = (value,) if isinstance(value, str) else tuple(value)
    figure = sheet(3.1)
    axes = bare(figure.subplots(), grid="both")
    if truth:
        axes.plot(list(truth), list(truth.values()), color=INK, linewidth=2.4, alpha=0.3, label="truth")
    for colour, ((key,), group) in zip(_cycle(), groups(rows, by).items(), strict=False):
        for style, name in zip(("-", "--", ":"), names, strict=False):
            points = sorted((float(k), measured(g, name)) for (k,), g in groups(group, x).items() if measured(g, name))
            at = [p[0] for p in points]
            found = [p[1] for p in points if p[1]]
            label = str(key) if len(names) == 1 else f"{key}: {name}"
            axes.plot(at, [m.value for m in found], style, marker="o", markersize=3.5, color=colour, label=label)
            low = [m.value if m.low is None else m.low for m in found]
            high = [m.value if m.high is None else m.high for m in found]
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    if log:
        axes.set_yscale("log")
    _legend(axes)
    axes.set_xlabel(headings[0] if headings else x)
    axes.set_ylabel(headings[1] if headings else ", ".join(names))
    return figure


def curves(rows: Sequence[Row], value: str, by: str, heading: str = "") -> Figure:
    """A value over training, from the cells' snapshots: the mean over seeds, its range as a band."""
    figure = sheet(3.1)
    axes = bare(figure.subplots(), grid="both")
    for colour, ((key,), group) in zip(_cycle(), groups(rows, by).items(), strict=False):
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
    figure = sheet(height * down, width)
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
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if len(handles) > 1 else 1, **LEGEND)
