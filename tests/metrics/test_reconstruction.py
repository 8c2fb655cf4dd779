import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.metrics import Probe, Reconstruction, reconstruction
from hatchel.metrics.score import Scores

rng = np.random.default_rng(0)


def test_the_three_units_against_torch():
    x, p = torch.rand(5, 1, 4, 4, dtype=torch.float64), torch.rand(5, 1, 4, 4, dtype=torch.float64)
    score = reconstruction(x, p)
    bce = torch.nn.functional.binary_cross_entropy(p, x, reduction="sum").item()
    assert score.value == pytest.approx(bce / 5)
    assert score.parts["bce_per_pixel"] == pytest.approx(bce / 80)
    assert score.parts["mse_per_pixel"] == pytest.approx((x - p).square().mean().item())


def test_certain_and_wrong_is_cut_as_torch_cuts_it():
    assert reconstruction(np.ones((1, 1)), np.zeros((1, 1))).value == 100
    assert reconstruction(np.ones((1, 1)), np.ones((1, 1))).value == 0


def test_logits_and_other_shapes_are_refused():
    with pytest.raises(HatchelError, match="reconstructions must lie between 0 and 1"):
        reconstruction(np.ones((2, 3)), np.full((2, 3), 1.5))
    with pytest.raises(HatchelError, match="shapes differ"):
        reconstruction(np.ones((2, 3)), np.ones((2, 4)))


def test_the_floor_is_the_entropy_of_the_grey_values():
    x = np.array([[[0.0, 1.0], [0.5, 0.25]]] * 3)
    entropy = np.log(2) - 0.25 * np.log(0.25) - 0.75 * np.log(0.75)
    found = reconstruction(x, np.full_like(x, 0.5)).parts
    assert found["floor"] == pytest.approx(entropy)
    assert found["above_floor"] == pytest.approx(4 * np.log(2) - entropy)
    assert reconstruction(x, x).parts["above_floor"] == 0
    lines = Scores({"reconstruction": reconstruction(x, x)}, {}).table().splitlines()
    assert lines[1:] == ["  above the entropy of the pixels  0.0000", "  squared error per pixel  0.0000"]


def test_images_of_the_first_rows_only_are_resampled_among_themselves():
    x, p = rng.random((300, 2, 2)), rng.random((300, 2, 2))
    score = Reconstruction().score(Probe(rng.normal(size=(900, 2)), images=(x, p)), 0, bootstrap=30)
    assert score.n == 300
    assert score.value == pytest.approx(reconstruction(x, p).value)
    assert score.interval.low < score.value < score.interval.high
