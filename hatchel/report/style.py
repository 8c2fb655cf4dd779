"""Style: what all figures share (hatchel.mplstyle, colours, bare axes, small multiples), and figures as files."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray
from PIL import Image

INK = "#1f2a37"
"""Text and axes. Inside a page it becomes the page's own text colour, so that a figure follows light and dark."""
ACCENT = "#17788f"
"""The run that the page is about; inside a page it becomes the page's own accent."""
OTHERS = ("#94a0ad", "#d98324", "#a3629e", "#5f9e4a", "#c8524f", "#7d8ff0")
"""What stands beside it; each is told from the others and from both backgrounds."""
LOW, MIDDLE, HIGH = "#3f6fd8", "#a39fb4", "#e07b39"
"""Ends and middle of a scale that is seen on white and on black."""
SMALL, NORMAL = 8.0, 9.0
"""Points; with WIDTH they stay readable when a page shows the figure 370 pixels wide."""
WIDTH = 5.2
"""Inches."""
WIDE = 9.0
"""Of a figure that takes the whole width of a page; on a small screen it is scrolled."""
LEGEND: Mapping[str, Any] = {
    "frameon": False, "fontsize": SMALL, "labelcolor": INK, "handletextpad": 0.2, "columnspacing": 1.2,
}  # fmt: skip
SCALE = LinearSegmentedColormap.from_list("hatchel", (LOW, MIDDLE, HIGH)).with_extremes(bad=(0, 0, 0, 0))
"""From low to high; what is not there is transparent."""


with resources.as_file(resources.files("hatchel.report").joinpath("hatchel.mplstyle")) as _file:
    STYLE: dict[Any, Any] = dict(matplotlib.rc_params_from_file(_file, use_default_template=False))

styled = matplotlib.rc_context(STYLE)
"""A decorator: what a function draws has the style of hatchel.mplstyle; that of the reader's own figures stays."""


def new_figure(height: float, width: float = WIDTH, fitted: bool = True) -> Figure:
    """An empty figure without a background; `fitted`: its axes make room for their labels, which takes time."""
    return Figure(figsize=(width, height), facecolor="none", layout="constrained" if fitted else None)


def small_multiples(
    count: int, columns: int, height: float, *, margin: float = 0.2, width: float = WIDTH
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` bare axes, `columns` in a row, each row `height` inches; `margin` is for what is below.

    >>> figure, axes = small_multiples(3, 2, 1.5)
    >>> len(figure.axes), len(axes), [a.get_visible() for a in figure.axes]
    (4, 3, [True, True, True, False])
    """
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure = new_figure(height * rows + margin, width)
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
    for empty in axes[count:]:
        empty.set_visible(False)
    return figure, [bare(a) for a in axes[:count]]


def over_steps(count: int, height: float, margin: float) -> tuple[Figure, list[Axes]]:
    """Small multiples of curves over training, two in a row."""
    figure, panels = small_multiples(count, 2, height, margin=margin)
    for axes in panels:
        bare(axes, grid="y")
        step_axis(axes)
    for axes in panels[-2:]:
        axes.set_xlabel("steps")
    return figure, panels


def step_axis(axes: Axes) -> None:
    """Few ticks, steps with their thousands apart."""
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def bare(axes: Axes, *, grid: str = "") -> Axes:
    """Axes with thin lines on the left and below, small ticks, and a faint grid along `grid` (x, y or both)."""
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_alpha(0.35)
        spine.set_linewidth(0.8)
    axes.tick_params(colors=INK, labelsize=SMALL, length=2.5, width=0.6)
    for label in (axes.xaxis.label, axes.yaxis.label, axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
        label.set_color(INK)
        label.set_fontsize(SMALL)
    if grid:
        axes.grid(axis=grid, color=INK, alpha=0.12, linewidth=0.7)  # pyright: ignore[reportArgumentType]
        axes.set_axisbelow(True)
    return axes


def boxless(axes: Axes) -> Axes:
    """Axes of which only the labels are seen."""
    bare(axes)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    return axes


def title(axes: Axes, text: str, size: float = NORMAL) -> None:
    """A short line over the left edge."""
    axes.set_title(text, loc="left", color=INK, fontsize=size, pad=5)


def svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element for a page: text stays text, colours are the page's, ids start with `name`."""
    out = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="none")
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    # Ids that matplotlib numbers from 1 in every figure would occur twice on one page.
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', "", text, count=1)
    return text.replace(INK, "currentColor").replace(ACCENT, "var(--accent)").strip()


def png(figure: Figure, dpi: int = 200) -> bytes:
    """The figure as a PNG on white."""
    out = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return out.getvalue()


def standalone_svg(figure: Figure, name: str) -> str:
    """The figure as an SVG file of its own, on white, text as text."""
    out = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return out.getvalue()


def pixels_uri(pixels: NDArray[np.uint8]) -> str:
    """Pixels (H, W, 3 or 4) as a data URI, one pixel an item's pixel: the page enlarges it."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="png", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")
