"""Removed: what each term of the bound does (HFVAE 2019, Fig. 3), on a few points."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from hatchel.studies.tasks.removed import Removed
from hatchel.study.task import Workspace

NOWHERE = Workspace(Path("nowhere"), Path("nowhere"))


@pytest.fixture(scope="module")
def found() -> list[dict[str, float]]:
    tasks = [Removed(0, number, points=4, copies=8, prior_draws=64, steps=400, lr=3e-3) for number in range(5)]
    return [dict(task.compute(NOWHERE).values) for task in tasks]


def test_without_the_likelihood_ratio_every_point_is_mapped_to_the_prior(found):
    assert found[1]["information"] < 0.02
    assert found[1]["aggregate_kl"] < 0.02
    assert found[1]["width"] == pytest.approx(1, abs=0.1)


def test_without_the_information_regions_are_smaller(found):
    assert found[2]["width"] < 0.95 * found[0]["width"]
    assert found[0]["information"] <= found[2]["information"] + 0.02 <= math.log(4) + 0.03


def test_without_the_match_of_x_the_data_become_unlikely(found):
    assert found[3]["log_evidence"] < found[0]["log_evidence"] - 1


def test_without_the_match_of_z_codes_leave_the_prior(found):
    assert found[4]["aggregate_kl"] > found[0]["aggregate_kl"] + 1


def test_log_evidence_of_a_decoder_that_ignores_z_is_the_density_of_its_output():
    task = Removed(0, points=4, sigma=0.5)
    from hatchel.latents.diagonal import Diagonal
    from hatchel.latents.likelihoods import Gaussian
    from hatchel.nets.mlp import Mlp, MlpDecoder
    from hatchel.training.model import Model

    model = Model(Mlp(hidden=(4,)), Diagonal(2), MlpDecoder(hidden=(4,)), Gaussian(0.5), (2,))
    for parameter in model.decoder.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        batch = task._trace(model, 1, 0).batch
        log_p = task._log_evidence(model, batch, 32)
    # Every point is at distance 1 of the output 0.
    expected = -0.5 / 0.25 - 2 * math.log(0.5) - math.log(2 * math.pi)
    torch.testing.assert_close(log_p, torch.full((4,), expected))
