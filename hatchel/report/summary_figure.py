"""Summary figure: traversals and scores of one run in a single picture, for a README or a slide."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from hatchel.report.figures import LEGEND, show_scores
from hatchel.report.findings import HEADLINES, Control, Findings
from hatchel.report.pictures import show_rows, traversal_labels, traversed
from hatchel.report.style import INK, NORMAL, styled

INCHES, DPI = 12.0, 100
"""1200 pixels wide."""
ROWS = 7
"""Dimensions shown at most; only those that carry information."""


@styled
def summary_figure(found: Findings, controls: Sequence[Control], name: str) -> Figure:
    """Traversals on the left, ordered by information; on the right the scores beside those of the controls."""
    images, counts = traversed(found.run, found, min(ROWS, max(5, len(found.dimensions.active))))
    rows, columns, height, width = images.shape[:4]
    tall = max(4.2, 0.53 * INCHES * rows * height / (columns * width) + 0.7)
    figure = Figure(figsize=(INCHES, tall), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.18, h_pad=0.14)  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    left, right = figure.subplots(1, 2, width_ratios=[1.75, 1])
    show_rows(left, images, traversal_labels(found.dimensions, len(images)), counts)
    left.set_anchor("NW")
    left.set_title("One dimension a row: the factor it follows, its information in nats", **_TITLE)
    keys = found.bounded
    labels = [h.label.replace("DCI disentanglement", "DCI") for h in HEADLINES if h.key in keys]
    labels += [f"R² {fit.factor}" for fit in found.fits]
    sources = {name: found, **{c.name: c.findings for c in controls}}
    scores = {n: [*(f.scores.get(k) for k in keys), *(fit.score for fit in f.fits)] for n, f in sources.items()}
    show_scores(right, labels, scores)
    right.tick_params(labelsize=NORMAL)
    right.set_title("Scores with 95 % intervals, beside the controls", **_TITLE)
    right.legend(loc="upper center", bbox_to_anchor=(0.4, -0.08), ncols=len(scores), **LEGEND)
    return figure


_TITLE = {"loc": "left", "color": INK, "fontsize": NORMAL + 1, "pad": 8}
