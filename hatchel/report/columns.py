"""Tables by column: what comes back of each, and what each dimension does to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hatchel.data.table import TableColumn
from hatchel.report.findings import Findings
from hatchel.report.pictures import ROWS, stops, traversal_codes, typical
from hatchel.report.style import ACCENT, INK, SMALL, bare, new_figure, small_multiples, styled, title
from hatchel.training.run import TrainedRun

COLUMNS = 12
"""Columns that have a plot of their own at most."""
POINTS = 500
"""Items in a scatter of originals against what comes back."""
ACROSS = 8
"""Columns beside each other in the small multiples of traversals."""

MOVED = 0.25
"""Of a column's range: what a dimension must move of it to be named with it."""
NAMED = 4
"""Values of a category at most that a legend names."""

Rows = NDArray[np.floating]


def blocks(run: TrainedRun, rows: Rows) -> Iterator[tuple[TableColumn, Rows]]:
    """Each column with its values (..., width) of rows (..., F)."""
    place = 0
    for column in run.columns:
        yield column, rows[..., place : place + column.width]
        place += column.width


def described(columns: tuple[TableColumn, ...]) -> str:
    """What a table is made of.

    >>> described((TableColumn("age", "gaussian"), TableColumn("city", "categorical", 3)))
    '2 columns: 1 of numbers, 1 of categories'
    """
    words = {"gaussian": "of numbers", "bernoulli": "of 0 or 1", "categorical": "of categories"}
    counts = {kind: sum(c.kind_of == kind for c in columns) for kind in words}
    parts = ", ".join(f"{n} {words[kind]}" for kind, n in counts.items() if n)
    return f"{len(columns)} columns: {parts}" if len(columns) > 1 else f"1 column {parts[2:]}" if columns else ""


def fidelity(column: TableColumn, x: Rows, back: Rows) -> float:
    """How well a column comes back: R² of a number, else the share of items whose likelier value is the right one."""
    if column.kind_of == "gaussian":
        return 1 - float(((x - back) ** 2).sum() / max(((x - x.mean()) ** 2).sum(), 1e-12))
    return float((_chosen(column, x) == _chosen(column, back)).mean())


@styled
def reconstructions(found: Findings) -> tuple[Figure, Rows]:
    """A plot for each column, originals across and what comes back upwards; and both as (2, n, F)."""
    run = found.run
    items = found.encoded.items[:: max(1, len(found.encoded.items) // POINTS)][:POINTS]
    codes = found.encoded.mean[:: max(1, len(found.encoded.items) // POINTS)][:POINTS]
    x, back = run.in_units(run.data.items(items)), run.decode(codes)
    pairs = [(c, x, y) for (c, x), (_, y) in zip(blocks(run, x), blocks(run, back), strict=True)]
    figure, axes = small_multiples(min(len(pairs), COLUMNS), 3, 1.7)
    for plot, (column, own, came) in zip(axes, pairs, strict=False):
        score = fidelity(column, own, came)
        if column.kind_of == "gaussian":
            plot.scatter(own, came, s=3, color=ACCENT, alpha=0.4, linewidths=0)
            plot.locator_params(nbins=3)
            ends = (float(own.min()), float(own.max()))
            plot.plot(ends, ends, color=INK, linewidth=0.6, alpha=0.5)
            title(plot, f"{column.name[:20]}   R² {score:z.2f}", SMALL)
        else:
            _confusion(plot, column, own, came)
            title(plot, f"{column.name[:20]}   {score:.0%} right", SMALL)
    return figure, np.stack([x, back])


@styled
def traversals(found: Findings, rows: int = ROWS) -> tuple[Figure, Rows]:
    """A row of small plots for each dimension, one for each of the columns that move most; and rows (R, n, F)."""
    run, dimensions = found.run, found.dimensions
    codes, counts = traversal_codes(typical(found.probe.codes, dimensions), dimensions, rows)
    decoded = run.decode(codes.reshape(-1, codes.shape[2])).reshape(*codes.shape[:2], -1)
    parts = list(blocks(run, decoded))
    moves = [float(np.ptp(y, axis=1).max() / (c.scale if c.kind_of == "gaussian" else 1)) for c, y in parts]
    chosen = np.sort(np.argsort(moves)[::-1][:ACROSS]).tolist()
    figure = new_figure(0.75 * len(codes) + 0.5)
    grid = figure.subplots(len(codes), len(chosen), squeeze=False, sharex="row", sharey="col")
    for r, d in enumerate(dimensions.order[: len(codes)].tolist()):
        shares = stops(dimensions, d)[: counts[r]]
        z = dimensions.low[d] + shares * (dimensions.high[d] - dimensions.low[d])
        for plot, number in zip(grid[r], chosen, strict=True):
            column, y = parts[number]
            lines = bare(plot).plot(z, y[r, : counts[r]], linewidth=1, color=ACCENT if column.width == 1 else None)
            named = r == 0 and 1 < column.width <= NAMED
            for i, (line, value) in enumerate(zip(lines, column.values, strict=False) if named else ()):
                place = 1.35 * i / column.width, 1.04  # over the plot, where no line runs through it
                plot.text(*place, value[:6], transform=plot.transAxes, fontsize=5, color=line.get_color())
            plot.set_xticks([])  # what the dimension runs through stands at the row's label
            plot.locator_params(axis="y", nbins=2)
            plot.set_ylim(*_limits(column, y))
            if r == 0:
                plot.set_title(column.name[:14], loc="left", color=INK, fontsize=SMALL, pad=11 if named else 5)
        way = f"{dimensions.label(d)}\n{z[0]:z.1f} to {z[-1]:z.1f}"
        grid[r][0].set_ylabel(way, rotation=0, ha="right", va="center", fontsize=SMALL, color=INK, labelpad=8)
    return figure, decoded


def columns_moved(found: Findings) -> dict[str, list[str]]:
    """For each active dimension, the columns that it moves by a quarter of their range or more, the most moved first.

    The range of a number is its standard deviation over the table, that of a probability is 1.
    """
    run, dimensions = found.run, found.dimensions
    count = len(dimensions.active)
    if not count or not run.columns:
        return {}
    codes, counts = traversal_codes(typical(found.probe.codes, dimensions), dimensions, count)
    decoded = run.decode(codes.reshape(-1, codes.shape[2])).reshape(*codes.shape[:2], -1)
    named: dict[str, list[str]] = {}
    for r, d in enumerate(dimensions.order[:count].tolist()):
        moves = {
            column.name: float(np.ptp(y[r, : counts[r]], axis=0).max()) / (column.scale if column.width == 1 else 1)
            for column, y in blocks(run, decoded)
        }
        named[dimensions.name(d)] = sorted((c for c in moves if moves[c] >= MOVED), key=lambda c: -moves[c])
    return named


def _limits(column: TableColumn, y: Rows) -> tuple[float, float]:
    """As wide for every dimension as the column is in the table, so that a small move looks small."""
    if column.kind_of != "gaussian":
        return -0.05, 1.05
    low, high = column.mean - 2 * column.scale, column.mean + 2 * column.scale
    return min(low, float(y.min())), max(high, float(y.max()))


def _chosen(column: TableColumn, values: Rows) -> NDArray[np.int64]:
    """The likelier value of each item."""
    return values.argmax(axis=-1) if column.kind_of == "categorical" else (values[..., 0] > 0.5).astype(np.int64)


def _confusion(plot: Axes, column: TableColumn, x: Rows, back: Rows) -> None:
    names = column.values or ("0", "1")
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (_chosen(column, back), _chosen(column, x)), 1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    plot.imshow(shares, cmap="Greys", vmin=0, vmax=1, origin="lower", aspect="auto")
    few = range(len(names)) if len(names) <= 6 else ()
    plot.set_xticks(list(few), [names[i][:8] for i in few], fontsize=SMALL)
    plot.set_yticks(list(few), [names[i][:8] for i in few], fontsize=SMALL)
