"""Comb: FactorVAE's objective at every weight of its KL; a schedule that follows the training and the image's size."""

from __future__ import annotations

import pytest
import torch

from hatchel.data.shapes3d import Shapes3D
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.comb import Comb
from hatchel.methods.resolve import resolve
from hatchel.nets.split import Split
from hatchel.objective.trace import Batch
from hatchel.objective.weights import Ramp


def test_the_schedule_is_the_same_share_of_every_training() -> None:
    whole = Comb().kl
    assert isinstance(whole, Ramp)
    for steps in (500, 5_000, 300_000):
        weight = resolve("comb", XYSquares(size=32), {"steps": steps}).objective["kl"].weight
        assert isinstance(weight, Ramp)
        assert weight.at(0) == whole.start
        assert weight.at(steps) == pytest.approx(whole.end)
        assert weight.at(round(0.3 * steps)) == pytest.approx(whole.at(90_000), rel=0.02)


def test_with_a_constant_weight_it_is_factor_vae_with_a_scaled_reconstruction() -> None:
    """At 32 px the reconstruction counts four times; four times FactorVAE's weights then make four times its loss."""
    data, batch = XYSquares(size=32), Batch(torch.rand(8, 1, 32, 32), 100, 3, 0)
    parts = {"encoder": Split(), "by": {"kind": "density_ratio", "hidden": 256}, "gamma": 20, "initial": "he"}
    runs = resolve("comb", data, {"kl": 4, "gamma": 80}), resolve("factor_vae", data, parts)
    ours, theirs = (float(run.fit_to_shape((1, 32, 32)).build((1, 32, 32))(batch).objective) for run in runs)
    assert ours == pytest.approx(4 * theirs, rel=1e-6)


def test_a_larger_image_has_the_same_weights() -> None:
    small, large = (resolve("comb", Shapes3D(size=size), {"steps": 5_000}) for size in (32, 64))
    assert small.objective == large.objective
    assert small.reconstruction_scale == large.reconstruction_scale == "64px"
