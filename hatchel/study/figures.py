"""Figures of studies: a frame in, a matplotlib Figure out. Every point says over how many seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from matplotlib.transforms import Bbox

from hatchel.report.style import ACCENT, INK, LEGEND, OTHERS, SMALL, WIDE, WIDTH, bare, new_figure
from hatchel.study.frame import Frame, column, estimate, groups, labels_of, tasks, values, wide
from hatchel.study.statistics import rank_correlation
from hatchel.study.table import Column, probability
from hatchel.study.task import Label

COLOURS: tuple[str, ...] = (ACCENT, *OTHERS[1:], OTHERS[0])
"""For one label after the other."""
MARKERS = ("o", "s", "^", "D")
"""Where the colours come round again."""
FEW = 5
"""Seeds below which quartiles say nothing: the dots and their mean are drawn without a box."""
KEY: Mapping[str, Any] = {**LEGEND, "handletextpad": 0.5, "handlelength": 1.8}
"""A legend of lines, which would touch their names."""


def boxes(
    frame: Frame,
    value: str,
    by: str,
    heading: str = "",
    published: Mapping[str, float] | None = None,
    shape: Literal["box", "violin"] = "box",
) -> Figure:
    """A line for each value of a label: every seed a dot, the mean a stroke; from five seeds on a box or a violin.

    The paper's figure, where there is one, is a hollow diamond.
    """
    found = {str(key): values(group, value) for (key,), group in groups(frame, by).items()}
    names = [name for name, seeds in found.items() if seeds]
    figure = new_figure(0.34 * len(names) + (1.0 if published else 0.75))
    axes = bare(figure.subplots(), grid="x")
    for place, name in enumerate(names):
        each = np.array(found[name])
        if 1 < len(each) < FEW:
            axes.plot([each.mean()] * 2, [place - 0.25, place + 0.25], color=INK, linewidth=1.6)
        elif len(each) >= FEW and shape == "violin":
            drawn: Any = axes.violinplot(each, [place], orientation="horizontal", widths=0.8, showextrema=False)
            for body in drawn["bodies"]:
                body.set(facecolor=ACCENT, alpha=0.25)
        elif len(each) >= FEW:
            axes.boxplot(
                each, positions=[place], orientation="horizontal", widths=0.5, showfliers=False,
                medianprops={"color": ACCENT, "linewidth": 1.6}, boxprops={"color": INK, "linewidth": 0.8},
                whiskerprops={"color": INK, "linewidth": 0.8}, capprops={"color": INK, "linewidth": 0.8},
            )  # fmt: skip
        axes.plot(each, np.full(len(each), place), "o", color=ACCENT, markersize=4, alpha=0.75)
        if published and name in published:
            axes.plot(published[name], place, "D", color=INK, markersize=5, fillstyle="none")
    axes.set_yticks(range(len(names)), [f"{n}  (n={len(found[n])})" for n in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    if published:
        axes.plot([], [], "D", color=INK, markersize=5, fillstyle="none", label="the paper's")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), **LEGEND)
    axes.set_xlabel(heading or value)
    return figure


def scatter(frame: Frame, x: str, y: str, by: str, headings: tuple[str, str] | None = None) -> Figure:
    """One value against another, a dot per task, a colour per label."""
    found = groups(frame, by)
    figure = new_figure(_height(len(found)))
    axes = bare(figure.subplots(), grid="both")
    for i, ((key,), group) in enumerate(found.items()):
        kept = wide(group, (x, y)).dropna(subset=[x, y])
        axes.plot(
            kept[x], kept[y], MARKERS[i // len(COLOURS) % len(MARKERS)],
            color=COLOURS[i % len(COLOURS)], markersize=5, alpha=0.85, label=f"{key} (n={len(kept)})",
        )  # fmt: skip
    _legend(axes)
    axes.set(xlabel=headings[0] if headings else x, ylabel=headings[1] if headings else y)
    return figure


def named_means(frame: Frame, x: str, y: str, by: str, headings: tuple[str, str]) -> Figure:
    """One value against another: the mean of every label named beside it, its seeds small around it; x logarithmic."""
    figure = new_figure(4.6, WIDE)
    axes = bare(figure.subplots(), grid="both")
    axes.set_xscale("log")
    means: list[tuple[str, float, float]] = []
    for i, ((key,), group) in enumerate(groups(frame, by).items()):
        kept = wide(group, (x, y)).dropna(subset=[x, y])
        style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linestyle": "none"}
        style["marker"] = MARKERS[i // len(COLOURS) % len(MARKERS)]
        axes.plot(kept[x], kept[y], markersize=3.5, alpha=0.35, **style)
        if len(kept):
            means.append((str(key), float(kept[x].mean()), float(kept[y].mean())))
            axes.plot(*means[-1][1:], markersize=8, **style)
    axes.set(xlabel=headings[0], ylabel=headings[1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    name_apart(axes, means)
    return figure


def name_apart(axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    """Write names beside points, each on the side and at the distance where it covers the fewest others."""
    canvas = FigureCanvasAgg(axes.get_figure(root=True))
    canvas.draw()  # scales and margins are final from here on
    renderer = canvas.get_renderer()
    places = [axes.transData.transform((x, y)) for _, x, y in points]
    taken = [Bbox([place - 6, place + 6]) for place in places]  # a marker's size
    frame = axes.get_window_extent()
    for name, x, y in sorted(points, key=lambda point: -point[2]):
        tried: list[tuple[int, int, Any, Bbox]] = []
        for order, (side, up) in enumerate((s, u) for u in (0, 9, -9, 18, -18, 27, -27) for s in (1, -1)):
            text = axes.annotate(
                name, (x, y), (8 * side, up), textcoords="offset points", va="center", color=INK, fontsize=SMALL,
                ha="left" if side > 0 else "right",
            )  # fmt: skip
            box = text.get_window_extent(renderer)
            outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0)
            tried.append((box.count_overlaps(taken) + 5 * outside, order, text, box))
        tried.sort(key=lambda one: one[:2])
        taken.append(tried[0][3])
        for _, _, text, _ in tried[1:]:
            text.remove()


def lines(
    frame: Frame,
    x: str,
    value: str | Mapping[str, str],
    by: str,
    headings: tuple[str, str] | None = None,
    log: bool = False,
) -> Figure:
    """A value (or several with what they are called, dashed after the first) against a numeric label.

    The band is the interval over seeds.
    """
    names = {value: value} if isinstance(value, str) else value
    found = groups(frame, by)
    figure = new_figure(_height(len(found) * len(names)))
    axes = bare(figure.subplots(), grid="both")
    for i, ((key,), group) in enumerate(found.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i // len(COLOURS) % len(MARKERS)]
        for style, (name, called) in zip(("-", "--", ":"), names.items(), strict=False):
            points = {float(k): m for (k,), g in groups(group, x).items() if (m := estimate(g, name))}
            at = sorted(points)
            lows = [points[p].low if points[p].has_interval else points[p].value for p in at]
            highs = [points[p].high if points[p].has_interval else points[p].value for p in at]
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
    axes.set(xlabel=headings[0] if headings else x, ylabel=headings[1] if headings else ", ".join(names.values()))
    return figure


def curves(frame: Frame, value: str, by: str) -> Figure:
    """A value over training, from the tasks' snapshots: the mean over seeds, its range as a band."""
    found = groups(frame, by)
    figure = new_figure(_height(len(found)))
    axes = bare(figure.subplots(), grid="both")
    for colour, ((key,), group) in zip(itertools.cycle(COLOURS), found.items(), strict=False):
        details = tasks(group)["details"]
        drawn = [np.array(d["curves"][value]) for d in details if value in d.get("curves", {})]
        if not drawn:
            continue
        steps, stack = drawn[0][:, 0], np.stack([d[:, 1] for d in drawn])
        axes.plot(steps, stack.mean(axis=0), color=colour, marker="o", markersize=3, label=f"{key} (n={len(drawn)})")
        axes.fill_between(steps, stack.min(axis=0), stack.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    _legend(axes)
    axes.set(xlabel="steps", ylabel=value)
    return figure


def heat(matrix: Sequence[Sequence[float | None]], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Numbers in a grid, a colour each; what is missing stays empty."""
    from hatchel.report.panels.matrices import heat_map

    values = np.array([[np.nan if v is None else v for v in line] for line in matrix], dtype=np.float64)
    return heat_map(values, rows, columns)


def grid_of(
    panels: Mapping[str, Any], each: Any, across: int = 3, height: float = 2.0, width: float = WIDTH, legend: int = 0
) -> Figure:
    """A panel for each entry: `each(axes, entry)` draws it, its name is the title; `legend` names so many a line."""
    down = -(-len(panels) // across)
    figure = new_figure(height * down, width)
    all_axes = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, (name, entry) in zip(all_axes, panels.items(), strict=False):
        bare(axes)
        each(axes, entry)
        axes.set_title(name, loc="left", color=INK, fontsize=SMALL, pad=4)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    if legend:
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=legend, **LEGEND)
    return figure


RUNS = 6
"""Without which a rank correlation says nothing."""


def comparison(frame: Frame, columns: Sequence[Column], trade: tuple[str, str] | None, score: str) -> dict[str, Any]:
    """A box plot for each column, the trade-off, who wins, and which scores agree."""
    named = frame.assign(**{"": joined(frame)})
    present, drawn = {*frame["metric"]}, dict[str, Any]()
    for c in columns:
        if c.name in present:
            published = {" · ".join(str(x) for x in key): value for key, value in c.published.items()}
            drawn[c.heading] = boxes(named, c.name, "", c.heading, published)
    headings = {c.name: c.heading for c in columns}
    if trade and {*trade} <= present:
        x, y = (headings.get(t, t) for t in trade)
        drawn[f"{x} against {y}"] = scatter(named, *trade, "", (x, y))
    return drawn | wins(frame, score, headings.get(score, score)) | agreement(frame, headings)


def wins(frame: Frame, score: str, heading: str) -> dict[str, Any]:
    """A figure for each data set: the probability that a run of the row has a better score than one of the column."""
    drawn: dict[str, Any] = {}
    for ending, group in _by_data(frame):
        found = groups(group.assign(**{"": joined(group)}), "")
        rows = {str(name): members for (name,), members in found.items() if len(values(members, score)) > 1}
        if len(rows) > 2:  # of two, the table of differences says it
            better = {(a, b): probability(rows[a], rows[b], score) for a in rows for b in rows if a != b}
            matrix = [[m.value if (m := better.get((a, b))) else None for b in rows] for a in rows]
            name = f"Probability of a better {heading}, line against column{ending}"
            drawn[name] = heat(matrix, list(rows), list(rows))
    return drawn


def agreement(frame: Frame, headings: Mapping[str, str]) -> dict[str, Any]:
    """A figure for each data set: Spearman's rank correlation of scores over all its runs (Locatello et al. 2019)."""
    drawn: dict[str, Any] = {}
    for ending, group in _by_data(frame):
        runs = wide(group, headings)
        # What most runs lack, such as the score of a layer that one method has, would leave the others out.
        present = {name: text for name, text in headings.items() if 2 * runs[name].notna().sum() > len(runs)}
        whole = runs.dropna(subset=list(present))
        if len(present) > 2 and len(whole) >= RUNS:
            found = rank_correlation({name: whole[name].tolist() for name in present})
            matrix = np.where(np.eye(len(present)) > 0, np.nan, found).tolist()
            texts = list(present.values())
            drawn[f"Rank correlation of the scores over {len(whole)} runs{ending}"] = heat(matrix, texts, texts)
    return drawn


def joined(frame: Frame) -> list[str]:
    """All labels of each row in one."""
    labels = zip(*(frame[column(label)] for label in labels_of(frame)), strict=True)
    return [" · ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in row) for row in labels]


def _by_data(frame: Frame) -> list[tuple[str, Frame]]:
    """Rows of each data set, without that label, and what to add to a name: scores on two of them do not compare."""
    found = groups(frame, "data")
    return [
        (f", {data}" if len(found) > 1 else "", group.drop(columns="data", errors="ignore"))
        for (data,), group in found.items()
    ]


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
