from __future__ import annotations

import numpy as np

from hatchel.report.dimensions import Dimensions
from hatchel.report.sites import Site
from hatchel.report.traversal import STEPS, moved, stops, traversal_codes, typical

DIMS = Dimensions(np.array([0.2, 1.5, 0.9]), np.array([-1.0, -2.0, 0.0]), np.array([1.0, 4.0, 0.5]))
CLASS = Dimensions(
    np.array([2.0, 1.0]), np.zeros(2), np.ones(2), variables=(Site("c", (0, 1, 2), "class"), Site("s", (3,), "style"))
)


def test_a_traversal_moves_one_dimension_over_its_range_in_the_order_of_information() -> None:
    start = np.array([7.0, 8.0, 9.0])
    codes, counts = traversal_codes(start, DIMS)
    assert codes.shape == (3, STEPS, 3)
    assert counts == [STEPS] * 3
    for row, d in enumerate((1, 2, 0)):
        assert np.allclose(codes[row, :, d], np.linspace(DIMS.low[d], DIMS.high[d], STEPS))
        others = [i for i in range(3) if i != d]
        assert (codes[row][:, others] == start[others]).all()
    assert np.array_equal(traversal_codes(start, DIMS, rows=2)[0], codes[:2])


def test_a_class_goes_through_its_values() -> None:
    codes, counts = traversal_codes(np.array([0.0, 1.0, 0.0, 0.4]), CLASS)
    assert counts == [3, STEPS]
    assert np.array_equal(codes[0, :3, :3], np.eye(3))
    assert (codes[0, :, 3] == np.float32(0.4)).all()
    assert (codes[1, :, :3] == (0, 1, 0)).all()
    half = moved(np.zeros(4), CLASS, 0, np.array([0.25]))[0]
    assert half.tolist() == [0.5, 0.5, 0, 0]  # between the first and the second value
    assert len(stops(CLASS, 0, steps=2)) == 2


def test_the_typical_item_is_a_real_one_and_dead_dimensions_do_not_choose_it() -> None:
    codes = np.array([[-1.0, 0.0], [0.1, 900.0], [1.0, 0.0], [5.0, 0.0], [-5.0, 0.0]])
    dims = Dimensions(np.array([2.0, 0.0]), np.array([-5.0, 0.0]), np.array([5.0, 0.0]))
    assert typical(codes, dims).tolist() == [0.1, 900.0]


def test_the_typical_item_has_decided_classes() -> None:
    codes = np.array([[0.2, 0.5, 0.3, 1.5], [0.9, 0.0, 0.1, -9.0], [0.2, 0.5, 0.3, 9.0]])
    assert typical(codes, CLASS).tolist() == [0, 1, 0, 1.5]
