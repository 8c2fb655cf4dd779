"""Heat maps: which dimension knows what about which factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.metrics.suite import Scores

INK, PAPER, MUTED = "#1f2a37", "#ffffff", "#6b7280"
RAMP = ("#f4f6f9", "#cfe3e6", "#8fc4c8", "#3f97a3", "#14647a", "#0b3a55")


@dataclass(frozen=True)
class Panel:
    """One matrix (D, K) with what stands above it."""

    title: str
    caption: str
    matrix: Float


def panels(probe: Probe, scores: Scores) -> list[Panel]:
    """Normalised mutual information, and the importance matrix of every DCI (or else MED) among the scores."""
    entropies = np.where(probe.entropies > 0, probe.entropies, np.nan)
    found = [
        Panel("Mutual information", "I(z; v) / H(v)" + _value(scores, "mig"), probe.mutual_information() / entropies)
    ]
    engines = [name for name in scores if name.split("(")[0] == "dci"] or [
        n for n in scores if n.split("(")[0] == "med"
    ]
    for name in engines:
        matrix = scores[name].matrix
        if matrix is not None and matrix.shape == found[0].matrix.shape:
            total = np.nansum(matrix, axis=0)
            shares = matrix / np.where(total > 0, total, 1.0)
            found.append(Panel("Importance", f"share of each factor{_value(scores, name)}", shares))
    return found


def heat_maps(path: Path, drawn: Sequence[Panel], factors: Sequence[str]) -> None:
    """Write the panels side by side to a picture (the file's ending says which kind)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    rows, columns = drawn[0].matrix.shape
    cell = 0.62 if columns <= 12 and rows <= 24 else 0.34
    width, height = max(columns * cell, 2.4), max(rows * cell * 0.72, 1.6)
    gutter, margin, top, bottom = 0.95, 0.65, 0.72, 0.3 + 0.05 * max(len(f) for f in factors)
    size = (margin + len(drawn) * width + (len(drawn) - 1) * gutter + 0.95, top + height + bottom)
    figure = Figure(figsize=size, facecolor=PAPER)
    FigureCanvasAgg(figure)
    ramp = LinearSegmentedColormap.from_list("hatchel", RAMP).with_extremes(bad=PAPER)
    image = None
    for i, panel in enumerate(drawn):
        left = margin + i * (width + gutter)
        axes = figure.add_axes((left / size[0], bottom / size[1], width / size[0], height / size[1]))
        image = axes.imshow(panel.matrix, cmap=ramp, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        _decorate(axes, panel, factors, numbers=cell > 0.5)
    assert image is not None
    bar = figure.add_axes(((size[0] - 0.72) / size[0], bottom / size[1], 0.13 / size[0], height / size[1]))
    scale = figure.colorbar(image, cax=bar, ticks=[0, 0.5, 1])
    scale.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(path, dpi=160, facecolor=PAPER)
    except (ValueError, OSError) as error:
        raise HatchelError(f"--plot {path}: {error}") from None


def _decorate(axes: Any, panel: Panel, factors: Sequence[str], numbers: bool) -> None:
    rows, columns = panel.matrix.shape
    axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=20)
    axes.text(0, 1.0, panel.caption, transform=axes.transAxes, fontsize=8.5, color=MUTED, va="bottom")
    axes.texts[-1].set_position((0, 1 + 0.06 / axes.get_position().height / axes.figure.get_figheight()))
    slanted = max(len(f) for f in factors) > 5
    angle = {"rotation": 38, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axes.set_xticks(range(columns), factors, fontsize=8.5, color=INK, **angle)
    step = 1 if rows <= 32 else int(np.ceil(rows / 32))
    axes.set_yticks(range(0, rows, step), [f"z{d}" for d in range(0, rows, step)], fontsize=8.5, color=INK)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=PAPER, linewidth=1.6 if numbers else 0.6)
    axes.tick_params(which="minor", length=0)
    if numbers:
        for (d, k), value in np.ndenumerate(panel.matrix):
            text = "–" if np.isnan(value) else f"{value:.2f}"
            shade = PAPER if value > 0.5 else (INK if value >= 0.05 else "#9aa3af")
            axes.text(k, d, text, ha="center", va="center", fontsize=7.5, color=shade)


def _value(scores: Scores, name: str) -> str:
    return f"   ·   {name.upper() if '(' not in name else name} = {scores[name].value:.3f}" if name in scores else ""
