from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from hatchel.explorer.sites import Site, class_information, sites
from hatchel.latents.mixed import Mixed
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import examine
from hatchel.training.run import TrainedRun


def test_sliders_are_the_reports_dimensions(plain: TrainedRun) -> None:
    """The order, the ranges and the names are those that the report shows of the same items."""
    found = examine(plain, bootstrap=0)
    dimensions: Dimensions = found.dimensions
    factors = plain.data.factors(found.encoded.items)
    assert found.encoded.std is not None
    own = sites(plain.spec.latent.layout, found.encoded.mean, found.encoded.std, factors, plain.data.space.names)
    assert [site.columns[0] for site in own] == dimensions.order.tolist()
    assert [site.name for site in own] == [f"z{d}" for d in dimensions.order]
    assert np.allclose([site.low for site in own], dimensions.low[dimensions.order])
    assert np.allclose([site.high for site in own], dimensions.high[dimensions.order])
    assert [site.follows for site in own] == [dimensions.follows(int(d)) for d in dimensions.order]


def known_codes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """600 items: a class that is the first factor, one of two coordinates that is the second, one that is noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(3, size=600), rng.integers(4, size=600)], axis=1)
    mean = np.concatenate([np.eye(3)[factors[:, 0]], factors[:, 1:] * 4.0, rng.normal(size=(600, 1))], axis=1)
    std = np.concatenate([np.zeros((600, 3)), np.full((600, 1), 0.05), np.full((600, 1), 9.0)], axis=1)
    return mean.astype(np.float32), std.astype(np.float32), factors


def test_a_class_is_a_choice_with_its_own_information() -> None:
    latent = Mixed({"class": Concrete(3), "style": Gaussian(2)})
    mean, std, factors = known_codes()
    found = sites(latent.layout, mean, std, factors, ("kind", "place"))
    assert [(s.name, s.columns, s.follows) for s in found] == [
        ("style z3", (3,), "place"),
        ("class", (0, 1, 2), "kind"),
        ("style z4", (4,), None),
    ]
    assert math.isclose(found[0].information, math.log(4), abs_tol=0.05)
    assert math.isclose(found[1].information, math.log(3), abs_tol=0.01)
    assert found[2].information < 0.05
    assert [s.to_dict()["active"] for s in found] == [True, True, False]
    assert (found[1].real, found[1].bounds) == (False, (0.0, 1.0))


def test_two_classes_of_one_group_are_numbered() -> None:
    latent = Mixed({"class": Concrete(3, count=2)})
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=(50, 2)).reshape(50, 6).astype(np.float32)
    assert {s.name for s in sites(latent.layout, probabilities, probabilities, None, None)} == {"class 1", "class 2"}


def test_a_class_that_never_changes_says_nothing() -> None:
    assert class_information(np.tile(np.float32([0.2, 0.3, 0.5]), (9, 1))) == pytest.approx(0, abs=1e-6)


def test_a_dead_coordinate_can_still_be_moved(make_run: Callable[..., TrainedRun], plain: TrainedRun) -> None:
    mean, std = np.zeros((40, 4), np.float32), np.ones((40, 4), np.float32)
    assert all(
        (s.low, s.high, s.follows) == (-0.5, 0.5, None) for s in sites(plain.spec.latent.layout, mean, std, None, None)
    )


def test_bounds_are_far_but_finite() -> None:
    assert Site("z0", (0,), 2.0, 6.0, 1.0).bounds == (-396.0, 404.0)


def test_many_dimensions_are_estimated_with_fewer_draws(monkeypatch: pytest.MonkeyPatch, plain: TrainedRun) -> None:
    """Two items 40 deviations apart: log 2 whatever the number of draws."""
    mean = np.repeat(np.float32([[-20.0] * 4, [20.0] * 4]), 50, axis=0)
    monkeypatch.setattr("hatchel.explorer.sites.DENSITIES", 4 * 60 * 60)
    found = sites(plain.spec.latent.layout, mean, np.ones_like(mean), None, None)
    assert np.allclose([s.information for s in found], math.log(2), atol=0.1)
