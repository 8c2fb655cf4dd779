from __future__ import annotations

import io
import re

import numpy as np
from PIL import Image

from hatchel.core.estimate import Estimate
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions
from hatchel.report.panels.curves import curves, losses_figure
from hatchel.report.panels.matrices import by_factor
from hatchel.report.panels.scores import information_figure, score_chart
from hatchel.report.style import ACCENT, INK, png, svg

SHARES = np.array([[0.9, 0.02, np.nan], [0.03, 0.6, np.nan]])
DIMS = Dimensions(np.array([0.5, 2.0]), np.zeros(2), np.ones(2), SHARES, ("x", "y", "still"))
EVENTS = [
    {"step": 10, "loss": 9.0, "term/rec": 8.0, "term/kl": 1.0, "critic/tc": 0.7, "seconds_per_step": 0.1},
    {"step": 20, "loss": 5.0, "term/rec": None, "term/kl": 2.0, "critic/tc": 0.6, "seconds_per_step": 0.1},
]


def test_curves_are_the_events() -> None:
    drawn = curves(EVENTS)
    assert list(drawn) == ["loss", "rec", "kl", "critic/tc"]
    steps, values = drawn["rec"]
    assert steps.tolist() == [10, 20]
    assert values[0] == 8
    assert np.isnan(values[1])


def test_a_panel_for_the_loss_and_every_term() -> None:
    figure = losses_figure(EVENTS, {"kl": "KL(q||p)"})
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["loss", "rec", "kl = KL(q||p)", "critic/tc"]
    assert shown[2].lines[0].get_ydata().tolist() == [1, 2]


def test_bars_are_the_information_largest_on_top() -> None:
    (axes,) = information_figure(DIMS).axes
    assert [bar.get_width() for bar in axes.patches] == [2.0, 0.5]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["z1 · y", "z0 · x"]
    assert axes.yaxis_inverted()


def test_the_heat_map_shows_the_ordered_shares() -> None:
    (axes,) = by_factor(DIMS, SHARES).axes
    numbers = {(t.get_position()[1] - 0.5, t.get_position()[0] - 0.5): t.get_text() for t in axes.texts}
    assert numbers == {(0, 0): "0.03", (0, 1): "0.60", (1, 0): "0.90", (1, 1): "0.02"}
    opacity = axes.collections[0].get_array()[..., 3]
    assert np.allclose(opacity, [[0.03, 0.6, 0], [0.9, 0.02, 0]])


def test_dots_and_intervals_of_scores() -> None:
    own = [Score("mig", 0.4, interval=Estimate(0.4, 0.35, 0.45)), Score("sap", 0.1)]
    figure = score_chart(["MIG", "SAP"], {"model": own, "control": [Score("mig", 0.05), None]})
    lines = [line.get_xdata() for line in figure.axes[0].lines]
    assert [list(np.atleast_1d(x)) for x in lines] == [[0.35, 0.45], [0.4], [0.1], [0.05]]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["model", "control"]


def test_svg_is_fit_for_a_page() -> None:
    first, second = (svg(information_figure(DIMS), name) for name in ("first", "second"))
    assert first.startswith("<svg")
    assert "http" not in first
    assert INK not in first
    assert ACCENT not in first
    assert ">z1 · y</text>" in first  # text stays text
    ids = [set(re.findall(r'id="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]+)\)", first)) <= ids[0]
    assert set(re.findall(r'href="#([^"]+)"', first)) <= ids[0]
    assert first == svg(information_figure(DIMS), "first")


def test_png_is_a_picture_on_white() -> None:
    picture = Image.open(io.BytesIO(png(information_figure(DIMS), dpi=50))).convert("RGB")
    assert picture.width == 260
    assert picture.getpixel((1, 1)) == (255, 255, 255)
