from __future__ import annotations

import io

from PIL import Image

from hatchel.report.findings import Control, Findings
from hatchel.report.style import png
from hatchel.report.summary_figure import DPI, summary_figure


def test_traversals_and_scores_in_one_picture(found: Findings) -> None:
    figure = summary_figure(found, [Control("untrained", "", found)], "beta_tcvae")
    left, right = figure.axes
    rows = [label.get_text().split()[0] for label in left.get_yticklabels()]
    assert rows == [f"z{d}" for d in found.dimensions.order]
    labels = [label.get_text() for label in right.get_yticklabels()]
    assert labels[0] == "MIG"
    assert labels[-2:] == ["R² x", "R² y"]
    dots = [line.get_xdata()[0] for line in right.lines if line.get_marker() == "o"]
    assert dots[: len(found.bounded)] == [found.scores[key].value for key in found.bounded]
    assert Image.open(io.BytesIO(png(figure, DPI))).width == 1200
