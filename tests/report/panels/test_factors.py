from __future__ import annotations

import numpy as np

from hatchel.data.factors import Factor, FactorSpace
from hatchel.metrics import disintegration
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.panels.factors import chosen, curve, factor_plots, plane, views
from hatchel.report.panels.factors import disintegration as disintegration_panel


def test_bars_are_the_effective_numbers(found: Findings) -> None:
    drawing = disintegration_panel(found)
    assert drawing is not None
    (axes,) = drawing.figures["disintegration"].axes
    score = disintegration(found.encoded.mean, found.probe.values, names=("x", "y"))
    assert [bar.get_width() for bar in axes.patches] == [score.parts[n]["effective_number"] for n in ("x", "y")]
    for text, name in zip(axes.texts, ("x", "y"), strict=True):
        part = score.parts[name]
        assert text.get_text().startswith(", ".join(part["carriers"][:4]))
        assert f"gap {part['gap']:.2f}" in text.get_text()
    assert f"the mean is {score.value:.2f}" in drawing.caption


RAMP = tuple(float(v) for v in range(3))


def test_two_coordinates_of_a_place_are_one_view() -> None:
    names = ("shape", "pos_x", "pos_y", "x_0", "y_0", "posX", "posY", "scale")
    space = FactorSpace(
        tuple(Factor(n, RAMP, "discrete" if n == "shape" else "continuous") for n in names), complete=False
    )
    factors = np.random.default_rng(0).integers(3, size=(60, len(names)))
    probe = Probe(np.zeros((60, 1)), factors, names=names, continuous=False)
    assert views(space, probe) == [(0,), (1, 2), (3, 4), (5, 6), (7,)]


def test_means_at_each_value_and_at_each_point() -> None:
    rng = np.random.default_rng(1)
    code, x, y = rng.normal(size=50), rng.integers(4, size=50), rng.integers(3, size=50)
    found = curve(code, x)
    assert found.at.tolist() == [0, 1, 2, 3]
    assert np.isclose(found.mean[2], code[x == 2].mean())
    assert np.isclose(found.spread[2], code[x == 2].std())
    means = plane(code, x, y, (3, 5))
    assert means.shape == (3, 5)
    assert np.isclose(means[1, 3], code[(x == 3) & (y == 1)].mean())
    assert np.isnan(means[:, 4]).all()  # no item lies there


def test_the_figure_shows_the_means_over_the_grid(found: Findings) -> None:
    drawing = factor_plots(found)
    assert drawing is not None
    axes = drawing.figures["factor_plots"].axes
    rows = chosen(found.dimensions)
    assert len(axes) == len(rows)  # x and y are one column
    x, y = np.asarray(found.probe.values).T
    code = found.probe.codes[:, rows[0]]
    image = axes[0].images[0].get_array()
    assert np.isclose(image[5, 2], code[(x == 2) & (y == 5)].mean())
    assert axes[0].get_ylabel() == found.dimensions.label(rows[0])
    assert axes[0].get_title() == "x × y"


def test_only_active_coordinates_where_there_are_any() -> None:
    assert chosen(Dimensions(np.array([0.0, 2.0, 1.0]), np.zeros(3), np.ones(3))) == [1, 2]
    assert chosen(Dimensions(np.zeros(5), np.zeros(5), np.ones(5))) == [0, 1, 2]
