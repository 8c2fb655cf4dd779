from __future__ import annotations

import numpy as np
import torch

from hatchel.data.xy_squares import XYSquares
from hatchel.latents.mixed import PriorParameters
from hatchel.methods.resolve import resolve
from hatchel.report.findings import Findings
from hatchel.report.panels.images import prior_samples, sample_rows
from hatchel.report.pictures import group_codes, to_bytes, typical
from hatchel.training.checkpoint import Description
from hatchel.training.run import TrainedRun


def test_images_are_decoded_draws(found: Findings) -> None:
    rows = sample_rows(found, count=3)
    codes = found.run.sample(6)[0]
    images = to_bytes(found.run.decode(codes))
    assert np.array_equal(np.concatenate(list(rows.values())), images)


def test_the_same_draws_at_every_level(hierarchy: Findings) -> None:
    rows = sample_rows(hierarchy, count=3)
    codes = hierarchy.run.sample(3)[0]
    assert list(rows) == ["level 0", "level 1", "level 2"]
    for level, images in enumerate(rows.values()):
        assert np.array_equal(images, to_bytes(hierarchy.run.decode(codes, level)))


def test_each_group_is_drawn_alone(mixed: Findings) -> None:
    rows = sample_rows(mixed, count=3)
    assert list(rows)[2:] == ["class alone", "style alone"]
    code = np.tile(typical(mixed.probe.codes, mixed.dimensions), (3, 1))
    code[:, 3:] = mixed.run.sample(6)[0][:3, 3:]
    assert np.abs(rows["style alone"].astype(int) - to_bytes(mixed.run.decode(code))).max() <= 1
    drawing = prior_samples(mixed)
    assert drawing is not None
    assert "as the run has learned it" in drawing.caption


def test_a_standard_prior_has_unit_moments_and_a_seed(found: Findings) -> None:
    codes = found.run.sample(20_000)[0]
    assert np.abs(codes.mean(axis=0)).max() < 0.03
    assert np.abs(np.cov(codes.T) - np.eye(4)).max() < 0.04
    assert np.array_equal(codes[:3], found.run.sample(20_000)[0][:3])


def test_a_learned_prior_has_its_covariance_and_class_probabilities() -> None:
    data = XYSquares(size=16, places=4)
    spec = resolve("hf_vae", data, {"style": 2, "classes": 3, "prior": "whole"}).fit_to(data.load())
    model = spec.build((1, 16, 16)).model
    prior = model.latent.prior
    assert isinstance(prior, PriorParameters)
    with torch.no_grad():
        prior.factors[0].copy_(torch.tensor([[0.3, 0.0], [0.8, -0.2]]))
        prior.logits[0].copy_(torch.tensor([1.0, 0.0, -1.0]))
    made = TrainedRun(None, Description(spec, (1, 16, 16), 16, ""), model, 0)  # type: ignore[arg-type]
    codes = made.sample(40_000)[0]
    assert np.allclose(np.cov(codes[:, 3:].T), prior.covariances[0].detach().numpy(), atol=0.06)
    # The largest coordinate of a Concrete draw is a draw of the classes themselves (the Gumbel-max identity).
    frequencies = np.bincount(codes[:, :3].argmax(axis=1)) / len(codes)
    assert np.allclose(frequencies, torch.tensor([1.0, 0.0, -1.0]).softmax(0).numpy(), atol=0.01)
    assert np.allclose(codes[:, :3].sum(axis=1), 1, atol=1e-5)


def test_one_group_alone(mixed: Findings) -> None:
    codes = np.arange(10, dtype=np.float32).reshape(2, 5)
    alone = group_codes(codes, np.full(5, -1.0), mixed.dimensions.sites, "style")
    assert alone.tolist() == [[-1, -1, -1, 3, 4], [-1, -1, -1, 8, 9]]
