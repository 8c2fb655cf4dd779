from __future__ import annotations

import numpy as np

from hatchel.report.findings import Findings
from hatchel.report.pictures import (
    mosaic,
    reconstruction_labels,
    reconstructions,
    rows_figure,
    to_bytes,
    traversal_labels,
    traversals,
)
from hatchel.report.traversal import typical


def test_images_of_the_page_are_those_of_the_run(found: Findings) -> None:
    run = found.run
    rows, counts = traversals(run, found)
    assert counts == [11] * 4
    start = typical(found.probe.codes, found.dimensions)
    code = start.copy()
    first = found.dimensions.order[0]
    code[first] = found.dimensions.high[first]
    assert np.abs(rows[0, -1] - 255.0 * run.decode(code[None])[0]).max() <= 0.5 + 1e-3
    originals, back = reconstructions(found, count=5)
    assert np.array_equal(back, to_bytes(run.reconstruct(originals)))
    known = {image.tobytes() for image in run.data.images(np.arange(len(run.data)))}
    assert all(image.tobytes() in known for image in originals)


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
    originals, *back = reconstructions(hierarchy, count=4)
    assert len(back) == 3
    for level, images in enumerate(back):
        assert np.array_equal(images, to_bytes(hierarchy.run.reconstruct(originals, level)))
    assert len(reconstruction_labels(3)) == 4


def test_figures_name_every_row(found: Findings) -> None:
    images, counts = traversals(found.run, found, rows=2)
    (axes,) = rows_figure(images, traversal_labels(found.dimensions, 2), counts).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    expected = [f"z{d}" for d in found.dimensions.order[:2]]
    assert [name.split()[0] for name in names] == expected
    assert np.array_equal(axes.images[0].get_array(), mosaic(images, 1))
