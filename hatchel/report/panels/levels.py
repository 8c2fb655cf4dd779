"""The latent spaces of a hierarchy side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hatchel.evaluation.evaluation import PICTURES, run_images
from hatchel.metrics._mig import MIG
from hatchel.metrics._reconstruction import Reconstruction
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.report import figures
from hatchel.report.findings import Findings, information_terms
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.style import ACCENT, INK, OTHERS, SMALL, bare, sheet

REPLICATES = 50
"""Of each level's MIG."""


class Levels(Panel):
    """MIG, reconstruction and information of every level (Wu et al. 2023)."""

    title = "The levels of the hierarchy"
    place = 70

    def draw(self, found: Findings) -> Drawing | None:
        """Where there are several."""
        if found.run.levels == 1:
            return None
        levels = measured_levels(found)
        caption = (
            "Level 0 is the representation that all else on this page is about. Reconstruction: -log p(x|z) of a "
            f"Bernoulli likelihood in nats per image ({PICTURES} images); information in nats, I(x;z) of the whole "
            "code and I(x;z_d) of each dimension in the order of level 0."
        )
        return Drawing({"levels": levels_figure(levels)}, caption)


@dataclass(frozen=True)
class Level:
    """What was measured in one latent space."""

    mig: Score | None
    reconstruction: Score | None
    information: float
    per_dimension: Float  # (D,)


def measured_levels(found: Findings) -> list[Level]:
    """All of them, on the same items; dimensions in the order of the first."""
    levels: list[Level] = []
    seed = found.probe.seed
    replicates = REPLICATES if any(s.interval for s in found.scores.values()) else 0
    for number, codes in enumerate(found.encoded.levels):
        probe = found.probe_of(codes.mean, codes.std)
        terms = information_terms(found.run, codes, seed)
        assert terms is not None  # a hierarchy's coordinates are real
        images = run_images(found.run, found.encoded.items[:PICTURES], number)
        error = Reconstruction().score(Probe(np.zeros((len(images[0]), 1)), images=images), seed) if images else None
        mig = MIG().score(probe, seed, replicates) if probe.values is not None else None
        each = np.array(list(terms.parts["mutual_information_per_dimension"].values()))
        levels.append(Level(mig, error, terms.parts["mutual_information"], each[found.dimensions.order]))
    return levels


def levels_figure(levels: list[Level]) -> Figure:
    """A small chart for each quantity, and a line a level over the dimensions."""
    charts = {
        "MIG": [level.mig for level in levels],
        "reconstruction error": [level.reconstruction for level in levels],
        "I(x; z)": [Score("I", level.information) for level in levels],
    }
    drawn = {name: scores for name, scores in charts.items() if all(scores)}
    figure = sheet(3.6)
    grid = figure.add_gridspec(2, len(drawn))
    for column, (name, scores) in enumerate(drawn.items()):
        bars(figure.add_subplot(grid[0, column]), name, [str(i) for i in range(len(levels))], scores, "level")
    axes = bare(figure.add_subplot(grid[1, :]), grid="y")
    for i, (level, colour) in enumerate(zip(levels, (ACCENT, *OTHERS), strict=False)):
        places = np.arange(min(len(level.per_dimension), figures.LINES))
        axes.plot(places, level.per_dimension[: len(places)], "o-", color=colour, markersize=3, linewidth=1.2,
                  label=f"level {i}")  # fmt: skip
    axes.legend(loc="upper right", **figures.LEGEND)
    axes.set_xlabel("dimensions, by information at level 0")
    axes.set_ylabel("I(x; z_d)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
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
    axes.set_title(name, loc="left", color=INK, fontsize=SMALL, pad=5)
