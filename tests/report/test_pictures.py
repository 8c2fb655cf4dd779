from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hatchel.latents.layout import Site
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.pictures import (
    STEPS,
    clearest,
    mosaic,
    moved,
    reconstructed,
    reconstruction_labels,
    rows_figure,
    stops,
    to_bytes,
    traversal_codes,
    traversal_labels,
    traversed,
    typical,
)


def test_images_of_the_page_are_those_of_the_run(found: Findings) -> None:
    run = found.run
    rows, counts = traversed(run, found)
    assert counts == [11] * 4
    code = clearest(run, found.probe.codes, found.dimensions).copy()
    first = found.dimensions.order[0]
    code[first] = found.dimensions.high[first]
    assert np.abs(rows[0, -1] - 255.0 * run.decode(code[None])[0]).max() <= 0.5 + 1e-3
    originals, back = reconstructed(found, count=5)
    assert np.array_equal(back, to_bytes(run.reconstruct(originals)))
    known = {image.tobytes() for image in run.data.images(np.arange(len(run.data)))}
    assert all(image.tobytes() in known for image in originals)


def test_a_traversal_starts_where_every_dimension_can_be_seen() -> None:
    """z1 shows by as much as z0 is away from -0.6; z0 shows anywhere; the third dimension says nothing and is ignored.

    Of 100 codes on a line the five nearest to the median, 0, are asked: -3 to 1 (the median is -0.5).
    """
    line = np.linspace(-50, 50, 101)[:100]
    codes = np.stack([line, np.zeros(100), np.zeros(100)], axis=1)

    def decode(z: np.ndarray) -> np.ndarray:
        return np.stack([100 * z[:, 0], np.abs(z[:, 0] + 0.6) * z[:, 1], 9 / (1 + np.abs(z[:, 0])) * z[:, 2]], axis=1)

    dims = Dimensions(np.array([1, 1, 0.0]), np.array([-50.0, -1, -1]), np.array([50.0, 1, 1]))
    assert clearest(SimpleNamespace(decode=decode), codes, dims).tolist() == [-3, 0, 0]  # type: ignore[arg-type]


def test_mosaic_puts_every_image_in_its_place() -> None:
    images = np.arange(2 * 3 * 2 * 2, dtype=np.uint8).reshape(2, 3, 2, 2, 1)
    picture = mosaic(images, gap=1)
    assert picture.shape == (5, 8, 4)
    assert np.array_equal(picture[3:5, 3:5, 0], images[1, 1, :, :, 0])
    assert (picture[2] == 0).all()
    assert picture[0, 0, 3] == 255
    coloured = np.random.default_rng(0).integers(256, size=(1, 1, 4, 4, 3)).astype(np.uint8)
    assert np.array_equal(mosaic(coloured)[..., :3], coloured[0, 0])


def test_rounding() -> None:
    assert to_bytes(np.array([-0.1, 0.0, 0.5, 1.0, 1.2])).tolist() == [0, 0, 128, 255, 255]


def test_images_beyond_a_rows_count_stay_empty() -> None:
    picture = mosaic(np.full((2, 3, 2, 2, 1), 9, dtype=np.uint8), gap=1, counts=[3, 1])
    assert (picture[:2, [0, 3, 6], 3] == 255).all()
    assert (picture[3:, :2, 3] == 255).all()
    assert (picture[3:, 3:] == 0).all()


def test_every_level_has_its_reconstruction(hierarchy: Findings) -> None:
    originals, *back = reconstructed(hierarchy, count=4)
    assert len(back) == 3
    for level, images in enumerate(back):
        assert np.array_equal(images, to_bytes(hierarchy.run.reconstruct(originals, level)))
    assert len(reconstruction_labels(3)) == 4


def test_figures_name_every_row(found: Findings) -> None:
    images, counts = traversed(found.run, found, rows=2)
    (axes,) = rows_figure(images, traversal_labels(found.dimensions, 2), counts).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    expected = [f"z{d}" for d in found.dimensions.order[:2]]
    assert [name.split()[0] for name in names] == expected
    assert np.array_equal(axes.images[0].get_array(), mosaic(images, 1))


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
