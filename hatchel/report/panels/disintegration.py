"""Factors that are spread over several dimensions."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hatchel.metrics._disintegration import Disintegration as Metric
from hatchel.metrics.score import Score
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.style import ACCENT, INK, SMALL, bare, sheet


class Disintegration(Panel):
    """How many dimensions carry each factor (Cheng et al. 2020, Sec. 6.3)."""

    title = "Factor disintegration"
    place = 50

    def draw(self, found: Findings) -> Drawing | None:
        """Where factors are known."""
        if found.dimensions.shares is None or not len(found.probe.varying):
            return None
        metric = Metric()
        score = metric.score(found.probe, found.probe.seed)
        caption = (
            "Effective number of the dimensions that carry a factor: 1 where one dimension has it alone; the mean is "
            f"{score.value:.2f}. A carrier has at least {metric.threshold:.0%} of the largest share of the factor's "
            "entropy. Beside each bar: the carriers, the gap between the two largest shares, and how much the carriers "
            "depend on each other (0: independent, so that the factor has fallen apart although the dimensions are "
            "independent)."
        )
        return Drawing({"disintegration": disintegration_figure(score)}, caption)


def disintegration_figure(score: Score) -> Figure:
    """A bar for each factor, with its carriers."""
    names = list(score.parts)
    numbers = np.array([score.parts[name]["effective_number"] for name in names])
    figure = sheet(0.42 * len(names) + 0.6)
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
        axes.annotate(
            text,
            (float(numbers[row]), row),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL - 1,
            color=INK,
        )
    axes.set_yticks(np.arange(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, widest * 1.65)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("effective number of carriers")
    return figure
