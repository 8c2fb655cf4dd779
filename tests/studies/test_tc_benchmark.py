from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.spec import from_dict
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import MSS
from hatchel.studies.tc_benchmark import TCBenchmark, correlation_of
from hatchel.studies.total_correlation import overlapping
from hatchel.study.study import Study
from hatchel.study.task import Workspace

NOWHERE = Workspace(Path("nowhere"), Path("nowhere"))


def values(**fields) -> dict[str, float]:
    return dict(TCBenchmark(**{"seed": 0, **fields}).compute(NOWHERE).values)


@pytest.mark.parametrize(("dim", "rho"), [(10, 0.3), (100, 0.9), (4, 0.0)])
def test_truth_of_pairs_is_the_closed_form(dim, rho):
    found = values(by=from_dict(Density, "gaussian"), dim=dim, rho=rho, sigma=0.0, batch=128, repeats=1)
    assert found["truth"] == pytest.approx(-dim / 4 * math.log(1 - rho**2), abs=1e-9)
    assert found["error"] == pytest.approx(found["tc"] - found["truth"])


def test_truth_of_one_block_with_noise_is_half_the_log_of_the_determinants():
    cell = TCBenchmark(seed=0, by=from_dict(Density, "gaussian"), dim=3, rho=0.5, block=3, sigma=0.1, repeats=1)
    c = np.full((3, 3), 0.5) + np.diag([0.51] * 3)
    truth = 0.5 * (3 * np.log(1.01) - np.linalg.slogdet(c)[1])
    assert cell.compute(NOWHERE).values["truth"] == pytest.approx(truth)
    assert np.allclose(cell.covariance.numpy(), c)


def test_an_odd_dimension_leaves_the_last_coordinate_alone():
    s = TCBenchmark(seed=0, dim=5, rho=0.4, block=2).means
    assert s[4, :4].abs().sum() == 0
    assert s[2, 3] == pytest.approx(0.4)
    assert s[1, 2] == 0


@pytest.mark.parametrize("kind", ["gaussian", "exact", "stratified"])
def test_estimates_are_near_the_truth_in_two_dimensions(kind):
    # sigma is large, so that posteriors overlap: what a minibatch needs.
    found = values(by=from_dict(Density, kind), dim=2, rho=0.8, sigma=0.5, batch=512, n_data=512, repeats=4)
    assert found["truth"] == pytest.approx(-0.5 * math.log(1 - (0.8 / 1.25) ** 2))
    assert found["tc"] == pytest.approx(found["truth"], abs=0.08)


def test_codes_have_the_covariance_they_claim():
    cell = TCBenchmark(seed=3, dim=4, rho=0.7, block=2, sigma=0.3, dead=1, batch=20_000)
    trace = cell._batch(0)
    sample = torch.cov(trace.z.double().T)
    assert torch.allclose(sample, cell.covariance, atol=0.03)
    assert torch.allclose(torch.cov(trace.q.mean.double().T), cell.means, atol=0.03)
    assert torch.allclose(trace.q.variance, torch.full_like(trace.z, 0.09))
    assert not torch.equal(trace.z, cell._batch(1).z)
    assert torch.equal(trace.z, cell._batch(0).z)


def test_dead_coordinates_keep_their_floor_and_the_truth():
    cell = TCBenchmark(seed=0, by=from_dict(Density, "gaussian"), dim=6, dead=2, floor=1e-6, sigma=0.01, repeats=1)
    assert cell.means.diagonal().tolist() == pytest.approx([1, 1, 1, 1, 1e-6, 1e-6])
    assert cell.compute(NOWHERE).values["truth"] == pytest.approx(0.0, abs=1e-9)
    torch.linalg.cholesky(cell.means + 1e-9 * torch.eye(6))  # positive definite, dead coordinates or not


def test_a_discriminator_learns_towards_the_truth():
    small = DensityRatio(hidden=32, layers=2)
    raw, learned = (values(by=small, dim=2, rho=0.9, sigma=0.0, batch=256, steps=s, lr=3e-3)["tc"] for s in (0, 250))
    truth = -0.5 * math.log(1 - 0.81)
    assert abs(learned - truth) < 0.25
    assert abs(raw - truth) > 0.5


def test_a_seed_is_the_same_numbers_whatever_torch_drew_before():
    small = DensityRatio(hidden=8, layers=1)
    first = values(by=small, dim=4, rho=0.5, batch=32, steps=3)
    torch.manual_seed(99)
    torch.rand(5)
    assert values(by=small, dim=4, rho=0.5, batch=32, steps=3) == first
    assert values(by=small, dim=4, rho=0.5, batch=32, steps=3, seed=1) != first


@pytest.mark.parametrize("dim", [2, 4, 20])
@pytest.mark.parametrize("determinant", [0.02, 0.5, 1.0])
def test_correlation_of_a_determinant(dim, determinant):
    rho = correlation_of(determinant, dim)
    assert 0 <= rho < 1
    assert np.linalg.det(np.full((dim, dim), rho) + np.eye(dim) * (1 - rho)) == pytest.approx(determinant)


def test_the_general_settings_of_table_1():
    task = Study.load("tc-dimension").grid("paper").cases[0].task
    assert isinstance(task, TCBenchmark)
    assert (task.batch, task.lr, task.betas, task.steps) == (256, 1e-4, (0.9, 0.999), 2000)
    net = task.by.build(task.dim).net
    assert sum(isinstance(m, torch.nn.Linear) for m in net) == 7
    assert {m.negative_slope for m in net if isinstance(m, torch.nn.LeakyReLU)} == {0.01}


@pytest.mark.parametrize(("size", "dead"), [(64, 0), (256, 8), (1024, 4)])
def test_shutdown_where_single_coordinates_overlap(size, dead):
    """At the paper's sigma of 0.1: 20 independent coordinates read (D - S)/2 log(1 + 1/sigma²) - log M, not 0."""
    floor = 0.1**2 / 100
    found = values(by=MSS(), dim=20, sigma=0.1, dead=dead, floor=floor, batch=size, n_data=size, repeats=2)
    closed = (20 - dead) / 2 * math.log(101) - math.log(size)
    assert overlapping(0.1, dead, size) == pytest.approx(closed)
    assert found["tc"] == pytest.approx(closed, rel=0.1)
    assert found["truth"] == pytest.approx(0, abs=1e-9)
    assert (20 - dead - 1) * math.log(size) > 1.8 * found["tc"]  # the appendix's own number needs a smaller sigma
