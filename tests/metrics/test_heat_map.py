import numpy as np
import pytest
from hatchel.metrics.plot import RAMP, heat_maps, panels
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.metrics import Probe, measure


def test_panels_show_information_over_entropy_and_shares_of_importance(grid, noise):
    codes = np.c_[grid[:, 0], noise[:, :1], grid[:, 1]]
    factors = np.c_[grid, np.ones(len(grid))]
    probe = Probe(codes, factors)
    information, importance = panels(probe, measure(probe, "mig,med"))
    assert information.matrix[0, 0] == pytest.approx(1)
    assert np.isnan(information.matrix[:, 3]).all()
    assert np.nansum(importance.matrix, axis=0)[:3] == pytest.approx([1, 1, 1])
    assert "MIG = " in information.caption


def test_the_picture_has_the_darkest_colour_where_the_matrix_is_one(tmp_path, grid):
    probe = Probe(grid + 0.0, grid, names=["shape", "scale", "orientation"])
    heat_maps(tmp_path / "deep" / "maps.png", panels(probe, measure(probe, "mig,med")), probe.names)
    with Image.open(tmp_path / "deep" / "maps.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    darkest = np.array([int(RAMP[-1][i : i + 2], 16) for i in (1, 3, 5)])
    palest = np.array([int(RAMP[0][i : i + 2], 16) for i in (1, 3, 5)])
    dark, pale = ((np.abs(pixels - colour) < 4).all(axis=1).sum() for colour in (darkest, palest))
    assert pale / dark == pytest.approx(2, rel=0.2)  # six of each nine cells are 0, three are 1


def test_an_unknown_ending_is_one_line(tmp_path, grid):
    probe = Probe(grid + 0.0, grid)
    with pytest.raises(HatchelError, match="--plot"):
        heat_maps(tmp_path / "maps.xyz", panels(probe, measure(probe, "mig")), probe.names)
