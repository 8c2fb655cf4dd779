"""Factors: how many dimensions carry each, and every active dimension against every factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hatchel.data.factors import Factor, FactorSpace
from hatchel.metrics._disintegration import Disintegration
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Curve, Dimensions, Fit, curve, factor_grid
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.style import ACCENT, INK, SCALE, SMALL, WIDE, bare, new_figure, small_multiples, title

ROWS = 8
"""Dimensions at most."""
WORDS = 12
"""Values of a discrete factor that are named below its column."""


@panel("Continuous factors and their best active dimension", place=40)
def positions(found: Findings) -> Drawing | None:
    """A line for each factor that has an order."""
    if not found.fits:
        return None
    caption = (
        "Mean of the dimension at each value of the factor, with one standard deviation over everything else. "
        "R² is that of a straight line."
    )
    return Drawing({"positions": factor_fits(found.fits)}, caption)


def factor_fits(fits: Sequence[Fit]) -> Figure:
    """Each continuous factor against the dimension that explains it best: mean and standard deviation at each value."""
    figure, panels = small_multiples(len(fits), 3, 1.75, margin=0.1)
    for axes, fit in zip(panels, fits, strict=True):
        bare(axes, grid="y")
        draw_curve(axes, fit.curve, fit.curve.at)
        title(axes, f"R² {fit.score.value:.2f}")
        axes.set(xlabel=fit.factor, ylabel=fit.name)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.yaxis.set_major_locator(MaxNLocator(4))
    return figure


@panel("Factor disintegration", place=50)
def disintegration(found: Findings) -> Drawing | None:
    """How many dimensions carry each factor (Cheng et al. 2020, Sec. 6.3)."""
    if found.dimensions.shares is None or not len(found.probe.varying):
        return None
    metric = Disintegration()
    score = found.stored.measure("mean", [metric], bootstrap=0)[metric.variant]
    caption = (
        "Effective number of the dimensions that carry a factor: 1 where one dimension has it alone; the mean is "
        f"{score.value:.2f}. A carrier has at least {metric.threshold:.0%} of the largest share of the factor's "
        "entropy. Beside each bar: the carriers, the gap between the two largest shares, and how much the carriers "
        "depend on each other (0: independent, so that the factor has fallen apart although the dimensions are "
        "independent)."
    )
    if "independent_carriers" in score.parts:  # earlier scores of a run have no such part
        caption += f" Factors with two independent carriers: {score.parts['independent_carriers']:.0f}."
    return Drawing({"disintegration": disintegration_figure(score)}, caption)


def disintegration_figure(score: Score) -> Figure:
    """A bar for each factor, with its carriers."""
    names = [name for name, part in score.parts.items() if isinstance(part, dict)]
    numbers = np.array([score.parts[name]["effective_number"] for name in names])
    figure = new_figure(0.42 * len(names) + 0.6)
    axes = bare(figure.subplots(), grid="x")
    axes.barh(np.arange(len(names)), numbers, height=0.6, color=ACCENT)
    axes.axvline(1, color=INK, alpha=0.5, linewidth=0.9, linestyle=(0, (3, 3)))
    widest = max(float(numbers.max()), 1.0)
    for row, name in enumerate(names):
        part = score.parts[name]
        carriers = part["carriers"]
        listed = ", ".join(carriers[:4]) + (f" + {len(carriers) - 4}" if len(carriers) > 4 else "")
        text = f"{listed}\ngap {part['gap']:.2f}"
        text += f", dependence {part['dependence']:.2f}" if len(carriers) > 1 else ""
        axes.annotate(text, (float(numbers[row]), row), (5, 0), textcoords="offset points", va="center",
                      fontsize=SMALL - 1, color=INK)  # fmt: skip
    axes.set_yticks(np.arange(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, widest * 1.65)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("effective number of carriers")
    return figure


@panel("Dimensions against factors", place=80, wide=True)
def factor_plots(found: Findings) -> Drawing | None:
    """What value a dimension takes on average at every value of a factor (Chen et al. 2018, Fig. 7)."""
    space = found.run.data.space
    rows = chosen(found.dimensions)
    if space is None or not rows or not len(found.probe.varying):
        return None
    columns = views(space, found.probe)
    caption = (
        "Rows: dimensions, the most informative first. Line: the mean of the dimension at each value of one "
        "factor, over all others; band: one standard deviation. A dimension that stands for one factor varies in "
        "one column only. All columns of a row share one scale."
    )
    if any(len(view) == 2 for view in columns):
        caption += " For the two coordinates of a place: the mean at each point, from low (blue) to high (orange)."
    return Drawing({"factor_plots": factor_figure(found.probe, space, found.dimensions, rows, columns)}, caption)


def chosen(dimensions: Dimensions) -> list[int]:
    """The active real coordinates, or where there is none the three most informative."""
    real = dimensions.real.tolist()
    active = [d for d in real if d in dimensions.active]
    return (active or real[:3])[:ROWS]


def views(space: FactorSpace, probe: Probe) -> list[tuple[int, ...]]:
    """Columns of the figure: single factors that vary, and pairs of the coordinates of one place.

    A pair are two ordered factors whose names differ in an x and a y: pos_x and pos_y, x_0 and y_0.
    """
    varying = [int(k) for k in probe.varying]
    places = {space.names[k]: k for k in varying if space.kinds[k] == "continuous"}
    pairs: dict[int, int] = {}
    for name, k in places.items():
        twins = [name[:i] + {"x": "y", "X": "Y"}[c] + name[i + 1 :] for i, c in enumerate(name) if c in "xX"]
        for twin in twins:
            if twin in places:
                pairs[k] = places[twin]
    return [(k, pairs[k]) if k in pairs else (k,) for k in varying if k not in pairs.values()]


def plane(code: Float, first: Float, second: Float, shape: tuple[int, int]) -> Float:
    """(size of second, size of first): the mean of a dimension at each point; NaN where no item lies."""
    cells = second.astype(np.int64) * shape[1] + first.astype(np.int64)
    count = np.bincount(cells, minlength=shape[0] * shape[1]).astype(np.float64)
    total = np.bincount(cells, weights=code, minlength=shape[0] * shape[1])
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0).reshape(shape)


def factor_figure(
    probe: Probe, space: FactorSpace, dimensions: Dimensions, rows: list[int], columns: list[tuple[int, ...]]
) -> Figure:
    """Dimensions down, factors across."""
    figure = new_figure(1.05 * len(rows) + 0.45, WIDE)
    panels = figure.subplots(len(rows), len(columns), squeeze=False)
    values = np.asarray(probe.values)
    for r, d in enumerate(rows):
        code = probe.codes[:, dimensions.column(d)]
        low, high = np.quantile(code, (0.01, 0.99))
        ends = (float(low), float(high) if high > low else float(low) + 1e-6)
        for c, view in enumerate(columns):
            axes: Axes = panels[r, c]
            factors = [space.factors[k] for k in view]
            if len(view) == 2:
                means = plane(code, values[:, view[0]], values[:, view[1]], (factors[1].size, factors[0].size))
                bare(axes).imshow(means, cmap=SCALE, vmin=ends[0], vmax=ends[1], interpolation="none", aspect="equal")
                axes.set(xticks=[], yticks=[])
            else:
                _line(axes, factors[0], curve(code, values[:, view[0]]), ends)
                if r < len(rows) - 1:
                    axes.tick_params(labelbottom=False)
            if r == 0:
                axes.set_title(" × ".join(f.name for f in factors), color=INK, fontsize=SMALL + 1, pad=5)
            if c == 0:
                axes.set_ylabel(dimensions.label(d), color=INK, fontsize=SMALL)
    return figure


def _line(axes: Axes, factor: Factor, found: Curve, ends: tuple[float, float]) -> None:
    bare(axes, grid="y")
    discrete = factor.kind == "discrete"
    x = found.at if discrete else factor_grid(factor)[found.at.astype(np.int64)]
    if discrete:
        axes.errorbar(x, found.mean, found.spread, fmt="o", color=ACCENT, markersize=4, elinewidth=1.4, alpha=0.9)
        axes.set_xlim(-0.6, factor.size - 0.4)
        if factor.size <= WORDS:
            turned = {"rotation": 35, "ha": "right"} if sum(len(str(v)) for v in factor.values) > 14 else {}
            axes.set_xticks(np.arange(factor.size), [str(v) for v in factor.values], **turned)  # pyright: ignore[reportArgumentType]
    else:
        draw_curve(axes, found, x)
        axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.set_ylim(*ends)
    axes.yaxis.set_major_locator(MaxNLocator(3))


def draw_curve(axes: Axes, found: Curve, x: Float) -> None:
    """The mean as a line, one standard deviation as a band."""
    axes.fill_between(x, found.mean - found.spread, found.mean + found.spread, color=ACCENT, alpha=0.2, linewidth=0)
    axes.plot(x, found.mean, color=ACCENT, linewidth=1.4)
