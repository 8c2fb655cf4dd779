"""Pairs of dimensions, coloured by a factor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from hatchel.metrics.information import Float, squared_correlations
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.style import ACCENT, INK, SCALE, SMALL, WIDE, bare, new_figure, small_multiples, title

ROWS = 5
"""Dimensions in the grid of all pairs."""
POINTS = 1500
"""Items drawn as points."""
DOTS = 150
"""Dots per inch of the points, which are pixels even in an SVG: thousands of vector points make a page slow."""


@panel("Pairs of dimensions", place=81, wide=True)
def pair_plots(found: Findings) -> Drawing | None:
    """All pairs of the most informative dimensions, means and samples (RTC-VAE 2020, Figs. 5 to 7 and 14 to 16)."""
    rows = found.dimensions.real[:ROWS].tolist()
    if len(rows) < 2:
        return None
    factor = best_known(found.dimensions, rows)
    name = None if factor is None else found.dimensions.factors[factor]
    colour = f", coloured by {name} from its first value (blue) to its last (orange)" if name else ""
    tc = {h: found.scores[h].value for h in ("tc_mean", "tc_sample") if h in found.scores}
    caption = f"Below the diagonal the posterior means, above it samples z ~ q(z|x){colour}; on it the means' counts."
    if len(tc) == 2:
        caption += (
            f" Gaussian total correlation of all coordinates: TC_mean {tc['tc_mean']:.3f}, TC_sample "
            f"{tc['tc_sample']:.3f} nats. Where the first is much larger, samples look independent only because "
            "their noise hides how the means depend on each other. It sees correlation alone: shapes that are "
            "uncorrelated but not independent (a ring, a cross) show only here."
        )
    drawn = {"pairs": pair_grid(found, rows, factor)}
    if found.dimensions.shares is not None:
        drawn["pairs_by_factor"] = factor_pairs(found)
        caption += (
            " Second figure: for each factor the two dimensions that know most of it, coloured by the factor, with "
            "the share of each, and their correlation."
        )
    return Drawing(drawn, caption)


def best_known(dimensions: Dimensions, rows: list[int]) -> int | None:
    """The factor of which one of these dimensions knows the largest share."""
    if dimensions.shares is None or np.isnan(dimensions.shares[rows]).all():
        return None
    return int(np.nanargmax(np.nanmax(np.where(np.isnan(dimensions.shares), -1, dimensions.shares)[rows], axis=0)))


def pair_grid(found: Findings, rows: list[int], factor: int | None) -> Figure:
    """Of a run's dimensions."""
    columns = [found.dimensions.column(d) for d in rows]
    some = slice(None, None, max(1, math.ceil(found.probe.n / POINTS)))
    means, samples = found.encoded.mean[some][:, columns], found.encoded.sample[some][:, columns]
    colours = None if factor is None else found.probe.classes[some, factor]
    return drawn_pairs(means, samples, [found.dimensions.label(d) for d in rows], colours)


def drawn_pairs(
    means: NDArray[Any], samples: NDArray[Any], names: Sequence[str], colours: NDArray[Any] | None
) -> Figure:
    """Means (n, D) below the diagonal, samples above it, counts of the means on it."""
    count = len(names)
    figure = new_figure(0.82 * WIDE, WIDE, fitted=False)
    figure.set_dpi(DOTS)
    figure.subplots_adjust(left=0.08, right=0.99, top=0.99, bottom=0.07, wspace=0.38, hspace=0.3)
    panels = figure.subplots(count, count, squeeze=False)
    for r, c in itertools.product(range(count), range(count)):
        axes = bare(panels[r, c])
        if r == c:
            axes.hist(means[:, r], bins=30, color=ACCENT, alpha=0.55, linewidth=0)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        else:
            points = means if r > c else samples
            _points(axes, points[:, c], points[:, r], colours)
        axes.xaxis.set_major_locator(MaxNLocator(2))
        axes.yaxis.set_major_locator(MaxNLocator(3))
        axes.tick_params(labelsize=SMALL - 1)
        if r == count - 1:
            axes.set_xlabel(names[c], color=INK, fontsize=SMALL + 1)
        if c == 0:
            axes.set_ylabel(names[r], color=INK, fontsize=SMALL + 1)
    return figure


def factor_pairs(found: Findings) -> Figure:
    """For each factor the two real coordinates with the largest shares, one against the other (RTC-VAE, Fig. 7)."""
    dimensions = found.dimensions
    varying = [int(k) for k in found.probe.varying]
    some = slice(None, None, max(1, math.ceil(found.probe.n / POINTS)))
    columns = max(3, len(varying)) if len(varying) <= 5 else 4
    figure, panels = small_multiples(len(varying), columns, 9.4 / columns, margin=0, width=WIDE)
    figure.set_dpi(DOTS)
    for axes, k in zip(panels, varying, strict=True):
        first, second = top_two(dimensions, k)
        a, b = (found.probe.codes[:, dimensions.column(d)] for d in (first, second))
        _points(axes, a[some], b[some], found.probe.classes[some, k])
        assert dimensions.shares is not None
        correlation = _correlation(a, b)
        title(axes, f"{dimensions.factors[k]} · corr {correlation:.2f}", SMALL + 1)
        axes.set_xlabel(f"{dimensions.name(first)} · {dimensions.shares[first, k]:.2f}")
        axes.set_ylabel(f"{dimensions.name(second)} · {dimensions.shares[second, k]:.2f}")
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.yaxis.set_major_locator(MaxNLocator(4))
    return figure


def top_two(dimensions: Dimensions, k: int) -> tuple[int, int]:
    """The real coordinates that know most of factor k."""
    assert dimensions.shares is not None
    real = dimensions.real
    first, second = real[np.argsort(-dimensions.shares[real, k], kind="stable")[:2]].tolist()
    return first, second


def _correlation(a: Float, b: Float) -> float:
    sign = np.sign(((a - a.mean()) * (b - b.mean())).sum())
    return float(sign * np.sqrt(squared_correlations(a[:, None], b)[0]))


def _points(axes: Axes, x: NDArray[Any], y: NDArray[Any], colours: NDArray[Any] | None) -> None:
    style = {"color": ACCENT} if colours is None else {"c": colours, "cmap": SCALE}
    axes.scatter(x, y, s=5, alpha=0.7, linewidths=0, rasterized=True, **style)  # pyright: ignore[reportArgumentType]
