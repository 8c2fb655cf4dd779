"""Heat maps: which dimension is informative about which factor."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_bytes
from hatchel.metrics.inputs import Float
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FILL = "#1f2a37", "#16778f"
"""Of text, and of a cell whose value is 1."""


def opacities(matrix: Float) -> Float:
    """Shares (D, K), or the size of correlations, as the fill in that opacity: (D, K, 4)."""
    from matplotlib.colors import to_rgb  # slow to import

    strength = np.abs(np.nan_to_num(matrix)).clip(0, 1)
    return np.concatenate([np.broadcast_to(to_rgb(FILL), (*matrix.shape, 3)), strength[..., None]], axis=2)


def draw_heat_map(axes: Axes, matrix: Float, rows: Sequence[str], columns: Sequence[str], numbers: float = 9.0) -> None:
    """Shares from 0 to 1, or correlations (D, K); NaN stays empty. `numbers`: their size in points, 0 for none.

    The colour is one fill of growing opacity, so that 0 is the page's own background in light and dark.
    """
    from matplotlib.colors import to_rgb

    # Vector cells, since an embedded picture is smoothed by some browsers; the faint edge marks empty cells.
    axes.pcolormesh(opacities(matrix), edgecolors=(*to_rgb(INK), 0.12), linewidth=0.6)
    for (r, c), value in np.ndenumerate(matrix):
        if numbers and np.isfinite(value):
            colour, alpha = "white" if abs(value) > 0.5 else INK, 1.0 if abs(value) >= 0.05 else 0.45
            cell = axes.text(c + 0.5, r + 0.5, f"{value:.2f}", ha="center", va="center", color=colour, alpha=alpha)
            cell.set_fontsize(numbers)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    crowded = sum(map(len, columns)) > 60 or max(map(len, columns)) * len(columns) > 80
    angle, side = (45, "left") if crowded else (0, "center")
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=angle, ha=side)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.invert_yaxis()


class FactorMatrix(NamedTuple):
    """One matrix (D, K) with what stands above it."""

    title: str
    matrix: Float


def factor_matrices(probe: Probe, scores: Scores) -> list[FactorMatrix]:
    """Normalised mutual information, and the importance matrix of every DCI (or else MED) among the scores."""
    entropies = np.where(probe.entropies > 0, probe.entropies, np.nan)
    information = probe.mutual_information() / entropies
    found = [FactorMatrix("mutual information I(z; v) / H(v)" + _value(scores, "mig"), information)]
    kinds = {name: name.partition("(")[0] for name in scores}
    for name in [n for n, k in kinds.items() if k == "dci"] or [n for n, k in kinds.items() if k == "med"]:
        matrix = scores[name].matrix
        if matrix is not None:
            total = np.nansum(matrix, axis=0)
            shares = matrix / np.where(total > 0, total, 1.0)
            found.append(FactorMatrix(f"importance, share of each factor{_value(scores, name)}", shares))
    return found


def write_heat_maps(path: Path, drawn: Sequence[FactorMatrix], factors: Sequence[str]) -> None:
    """The matrices side by side in a picture; the file's ending says of which kind."""
    from matplotlib.figure import Figure

    rows, columns = drawn[0].matrix.shape
    large = columns <= 12 and rows <= 24
    cell = 0.62 if large else 0.34
    size = (len(drawn) * max(columns * cell + 0.6, 3.6), max(rows * cell * 0.6, 1.6) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    step = 1 if rows <= 32 else int(np.ceil(rows / 32))
    names = [f"z{d}" if d % step == 0 else "" for d in range(rows)]
    for axes, panel in zip(figure.subplots(1, len(drawn), squeeze=False).flat, drawn, strict=True):
        draw_heat_map(axes, panel.matrix, names, factors, numbers=8.0 if large else 0)
        axes.set_frame_on(False)
        axes.tick_params(labelsize=8, labelcolor=INK)
        axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
    drawing = io.BytesIO()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(drawing, format=path.suffix[1:] or "png", dpi=160)
        write_bytes(path, drawing.getvalue())
    except (ValueError, OSError) as error:
        raise HatchelError(f"--plot {path}: {error}") from None


def _value(scores: Scores, name: str) -> str:
    return f"   ·   {name.upper() if '(' not in name else name} = {scores[name].value:.3f}" if name in scores else ""
