from __future__ import annotations

import math

import numpy as np

from hatchel.explorer.session import Session
from hatchel.explorer.sliders import Slider, sliders
from hatchel.latents.layout import Site
from hatchel.metrics._aggregate import ELBOTerms
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import Dimensions, site_information
from hatchel.report.findings import analyse
from hatchel.training.run import TrainedRun


def test_sliders_are_the_reports_dimensions(session: Session, plain: TrainedRun) -> None:
    """The order, the ranges, the names and the information are those that the report shows."""
    dimensions = analyse(plain, bootstrap=0).dimensions
    own = session.runs[0].spaces[0].sliders
    assert [s.columns[0] for s in own] == dimensions.order.tolist()
    assert [s.name for s in own] == [f"z{d}" for d in dimensions.order]
    assert [s.low for s in own] == dimensions.low[dimensions.order].tolist()
    assert [s.high for s in own] == dimensions.high[dimensions.order].tolist()
    assert [s.information for s in own] == dimensions.information[dimensions.order].tolist()
    assert [s.follows for s in own] == [dimensions.follows(int(d)) for d in dimensions.order]


def known_dimensions() -> Dimensions:
    """600 items: a class that is the first factor, one of two coordinates that is the second, one that is noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(3, size=600), rng.integers(4, size=600)], axis=1)
    mean = np.concatenate([np.eye(3)[factors[:, 0]], factors[:, 1:] * 4.0, rng.normal(size=(600, 1))], axis=1)
    std = np.concatenate([np.full((600, 1), 0.05), np.full((600, 1), 9.0)], axis=1)
    terms = ELBOTerms().score(Probe(mean[:, 3:], std=std), 0)
    variables = (Site("class", (0, 1, 2), "class"), Site("style z3", (3,), "style"), Site("style z4", (4,), "style"))
    information = site_information(variables, mean, list(terms.parts["mutual_information_per_dimension"].values()))
    return Dimensions.of(Probe(mean, factors, names=("kind", "place"), continuous=False), information, variables)


def test_a_class_is_a_choice_with_its_own_information() -> None:
    found = sliders(known_dimensions())
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


def test_a_dead_coordinate_can_still_be_moved() -> None:
    dead = Dimensions.of(Probe(np.zeros((40, 4))), np.zeros(4))
    assert all((s.low, s.high, s.follows) == (-0.5, 0.5, None) for s in sliders(dead))


def test_bounds_are_far_but_finite() -> None:
    assert Slider("z0", (0,), 2.0, 6.0, 1.0).bounds == (-396.0, 404.0)
