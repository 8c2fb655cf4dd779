"""Hierarchy: the latent spaces of several levels, and the inner layers of a recursive encoder, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hatchel.metrics._dependence import PairwiseNMI
from hatchel.metrics._mig import MIG
from hatchel.metrics._reconstruction import Reconstruction
from hatchel.metrics.heat_map import opacities
from hatchel.metrics.information import Float
from hatchel.metrics.score import Score
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.panels.scores import LINES
from hatchel.report.style import ACCENT, INK, LEGEND, OTHERS, SMALL, bare, boxless, new_figure, title


@panel("The levels of the hierarchy", place=70)
def levels(found: Findings) -> Drawing | None:
    """MIG, reconstruction and information of every level (Wu et al. 2023)."""
    if found.run.levels == 1:
        return None
    measured = measured_levels(found)
    caption = (
        "Level 0 is the representation that all else on this page is about. Reconstruction: -log p(x|z) at "
        "one z ~ q(z|x) of every item, in nats per item; information in nats, I(x;z) of the whole "
        "code and I(x;z_d) of each dimension in the order of level 0."
    )
    return Drawing({"levels": levels_figure(measured)}, caption)


@dataclass(frozen=True)
class Level:
    """What was measured in one latent space."""

    mig: Score | None
    reconstruction: Score | None
    information: float
    per_dimension: Float  # (D,)


def measured_levels(found: Findings) -> list[Level]:
    """All of them, on the same items; dimensions in the order of the first."""
    result: list[Level] = []
    for number in range(found.run.levels):
        name = f"level {number}" if number else "mean"
        terms = found.stored.information(number)
        assert terms is not None  # a hierarchy's coordinates are real
        scores = found.stored.measure(name, [MIG()], found.bootstrap)
        errors = found.stored.measure(name, [Reconstruction()], bootstrap=0)
        each = np.array(list(terms.parts["mutual_information_per_dimension"].values()))
        result.append(
            Level(
                scores.get(MIG().variant),
                errors.get(Reconstruction().variant),
                terms.parts["mutual_information"],
                each[found.dimensions.order],
            )
        )
    return result


def levels_figure(levels: list[Level]) -> Figure:
    """A small chart for each quantity, and a line a level over the dimensions."""
    charts = {
        "MIG": [level.mig for level in levels],
        "reconstruction error": [level.reconstruction for level in levels],
        "I(x; z)": [Score("I", level.information) for level in levels],
    }
    drawn = {name: scores for name, scores in charts.items() if all(scores)}
    figure = new_figure(3.6)
    grid = figure.add_gridspec(2, len(drawn))
    for column, (name, scores) in enumerate(drawn.items()):
        bars(figure.add_subplot(grid[0, column]), name, [str(i) for i in range(len(levels))], scores, "level")
    axes = bare(figure.add_subplot(grid[1, :]), grid="y")
    for i, (level, colour) in enumerate(zip(levels, (ACCENT, *OTHERS), strict=False)):
        places = np.arange(min(len(level.per_dimension), LINES))
        axes.plot(places, level.per_dimension[: len(places)], "o-", color=colour, markersize=3, linewidth=1.2,
                  label=f"level {i}")  # fmt: skip
    axes.legend(loc="upper right", **LEGEND)
    axes.set(xlabel="dimensions, by information at level 0", ylabel="I(x; z_d)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@panel("The layers of the encoder", place=71)
def layers(found: Findings) -> Drawing | None:
    """MIG and dependence of the features m^l and of the code z (Chen et al. 2022, Fig. 1)."""
    measured = measured_layers(found) if found.encoded.layers else {}
    if len(measured) < 2:
        return None
    caption = (
        "m: what the encoders of each module give, every channel by its mean; z: the code. MIG: higher is "
        "better. Dependence: mean over pairs of I(i;j) / sqrt(H(i) H(j)), lower is better; below, all pairs, the "
        "stronger the colour the more they depend on each other."
    )
    return Drawing({"layers": layers_figure(measured)}, caption)


@dataclass(frozen=True)
class Layer:
    """What was measured of one layer."""

    mig: Score | None
    dependence: Score


def measured_layers(found: Findings) -> Mapping[str, Layer]:
    """From the input's side to the code; a layer of one feature has no pairs and is left out.

    So are the routed features, mixtures of the layer before them.
    """
    given = [name for name in found.encoded.layers if not name.startswith("routed")]
    names = {name: f"layer {name}" for name in given} | {"z": "mean"}
    result: dict[str, Layer] = {}
    for name, representation in names.items():
        if found.stored.probe(representation).dims > 1:
            scores = found.stored.measure(representation, [MIG(), PairwiseNMI()], found.bootstrap)
            result[name] = Layer(scores.get(MIG().variant), scores[PairwiseNMI().variant])
    return result


def layers_figure(layers: Mapping[str, Layer]) -> Figure:
    """Two charts over a row of matrices."""
    names, found = list(layers), list(layers.values())
    known = all(layer.mig for layer in found)
    figure = new_figure(3.6)
    grid = figure.add_gridspec(2, 1, height_ratios=[1, 1.15])
    upper, lower = grid[0].subgridspec(1, 1 + known), grid[1].subgridspec(1, len(found))
    charts = [figure.add_subplot(cell) for cell in upper]
    if known:
        bars(charts[0], "MIG", names, [layer.mig for layer in found])
    bars(charts[-1], "dependence between features", names, [layer.dependence for layer in found])
    for axes, (name, layer) in zip((figure.add_subplot(cell) for cell in lower), layers.items(), strict=True):
        matrix = layer.dependence.matrix
        assert matrix is not None
        boxless(axes).imshow(opacities(matrix), interpolation="none")
        axes.set_title(name, color=INK, fontsize=SMALL, pad=4)
        places = np.arange(len(matrix))
        shown = places[:: max(1, len(matrix) // 8)]
        axes.set_xticks(shown, [str(i) for i in shown], fontsize=SMALL - 1)
        axes.set_yticks(shown, [str(i) for i in shown], fontsize=SMALL - 1)
    return figure


def bars(axes: Axes, name: str, labels: list[str], scores: Sequence[Score | None], below: str = "") -> None:
    """A bar a score, with its number and interval."""
    bare(axes)
    values = [s.value if s else 0.0 for s in scores]
    axes.bar(np.arange(len(values)), values, width=0.6, color=ACCENT)
    top = max(*values, 1e-9)
    for i, score in enumerate(scores):
        if score is None:
            continue
        high = score.value
        if score.interval:
            ends, high = (score.interval.low, score.interval.high), max(high, score.interval.high)
            axes.plot((i, i), ends, color=INK, linewidth=1.2)
        top = max(top, high)
        text = f"{score.value:.3f}" if score.value < 1 else f"{score.value:.1f}"
        axes.annotate(text, (i, high), (0, 2), textcoords="offset points", ha="center", fontsize=SMALL - 1, color=INK)
    axes.set_xticks(np.arange(len(labels)), labels)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylim(0, 1.2 * top)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(below)
    title(axes, name, SMALL)
