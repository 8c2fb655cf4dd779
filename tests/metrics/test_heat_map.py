import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.metrics import Probe, measure
from hatchel.metrics.heat_map import FILL, draw_heat_map, factor_matrices, write_heat_maps


def test_panels_show_information_over_entropy_and_shares_of_importance(grid, noise):
    codes = np.c_[grid[:, 0], noise[:, :1], grid[:, 1]]
    factors = np.c_[grid, np.ones(len(grid))]
    probe = Probe(codes, factors)
    information, importance = factor_matrices(probe, measure(probe, "mig,med"))
    assert information.matrix[0, 0] == pytest.approx(1)
    assert np.isnan(information.matrix[:, 3]).all()
    assert np.nansum(importance.matrix, axis=0)[:3] == pytest.approx([1, 1, 1])
    assert "MIG = " in information.title


def test_the_picture_has_the_darkest_colour_where_the_matrix_is_one(tmp_path, grid):
    probe = Probe(grid + 0.0, grid, names=["shape", "scale", "orientation"])
    write_heat_maps(tmp_path / "deep" / "maps.png", factor_matrices(probe, measure(probe, "mig,med")), probe.names)
    with Image.open(tmp_path / "deep" / "maps.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    darkest = np.array([int(FILL[i : i + 2], 16) for i in (1, 3, 5)])
    dark = (np.abs(pixels - darkest) < 4).all(axis=1)
    assert 0.05 < dark.mean() < 1 / 3  # three of each nine cells are 1, the others 0, and there are margins


def test_opacity_and_number_of_every_cell():
    (axes,) = Figure().subplots(1, 1, squeeze=False).flat
    draw_heat_map(axes, np.array([[0.9, 0.02], [np.nan, -0.6]]), ["z0", "z1"], ["a", "b"])
    assert np.allclose(axes.collections[0].get_array()[..., 3], [[0.9, 0.02], [0, 0.6]])
    assert [t.get_text() for t in axes.texts] == ["0.90", "0.02", "-0.60"]
    assert axes.yaxis_inverted()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["a", "b"]


def test_an_unknown_ending_is_one_line(tmp_path, grid):
    probe = Probe(grid + 0.0, grid)
    with pytest.raises(HatchelError, match="--plot"):
        write_heat_maps(tmp_path / "maps.xyz", factor_matrices(probe, measure(probe, "mig")), probe.names)
