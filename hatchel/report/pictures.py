"""Pictures: originals over reconstructions, and traversals, as arrays of images and as figures."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.style import INK, SMALL, WIDTH, boxless, sheet
from hatchel.run import Run

Images = NDArray[np.uint8]

SHOWN = 12
"""Originals with their reconstructions."""
STEPS = 11
"""Images in a row of a traversal; odd, so that there is a middle one."""
ROWS = 12
"""Dimensions traversed at most, the most informative ones."""


def reconstructions(found: Findings, count: int = SHOWN, seed: int = 0) -> Images:
    """Originals above, what comes back through the mean code below: (2, n, H, W, C)."""
    items = found.encoded.items
    chosen = np.random.default_rng(seed).choice(items, min(count, len(items)), replace=False)
    originals = found.run.data.images(chosen)
    return np.stack([originals, to_bytes(found.run.reconstruct(originals))])


def typical(codes: NDArray[np.floating], dimensions: Dimensions) -> NDArray[np.floating]:
    """(n, D) -> (D,): the item nearest to the median code, each dimension on the scale of its own range.

    A real item's code, since the median of each dimension by itself may be a code that no item has.
    """
    width = np.maximum(dimensions.high - dimensions.low, 1e-12)
    distance = ((codes - np.median(codes, axis=0)) / width) ** 2
    return codes[(distance @ dimensions.information.clip(0)).argmin()]


def traversal_codes(start: NDArray[np.floating], dimensions: Dimensions, rows: int = ROWS) -> NDArray[np.float32]:
    """One dimension moved from its low to its high quantile, the others as in `start`: (R, STEPS, D), rows by I."""
    order = dimensions.order[:rows]
    codes = np.tile(np.asarray(start, dtype=np.float32), (len(order), STEPS, 1))
    for row, d in enumerate(order):
        codes[row, :, d] = np.linspace(dimensions.low[d], dimensions.high[d], STEPS)
    return codes


def traversals(run: Run, found: Findings, rows: int = ROWS) -> Images:
    """The decoded traversal: (R, STEPS, H, W, C)."""
    codes = traversal_codes(typical(found.probe.codes, found.dimensions), found.dimensions, rows)
    return to_bytes(run.decode(codes.reshape(-1, codes.shape[2]))).reshape(*codes.shape[:2], *_image_shape(run))


def _image_shape(run: Run) -> tuple[int, int, int]:
    channels, height, width = run.shape
    return height, width, channels


def to_bytes(images: NDArray[np.floating]) -> Images:
    """[0, 1] to 0..255, rounded."""
    return (np.clip(images, 0, 1) * 255 + 0.5).astype(np.uint8)


def mosaic(images: Images, gap: int = 1) -> Images:
    """(R, n, H, W, C) -> one picture (.., .., 4) with transparent gaps.

    >>> mosaic(np.full((1, 2, 4, 4, 1), 255, np.uint8)).shape
    (4, 9, 4)
    """
    rows, columns, height, width, channels = images.shape
    sheet_ = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 4), dtype=np.uint8)
    for r in range(rows):
        for c in range(columns):
            place = sheet_[r * (height + gap) :, c * (width + gap) :][:height, :width]
            place[..., :3] = images[r, c][..., :3] if channels >= 3 else images[r, c][..., :1]
            place[..., 3] = 255
    return sheet_


def show_traversals(axes: Axes, images: Images, dimensions: Dimensions) -> None:
    """The rows on given axes, each with its dimension, factor and information on the left."""
    rows, _, height = images.shape[:3]
    gap = max(1, height // 16)
    boxless(axes).imshow(mosaic(images, gap), interpolation="nearest")
    middles = (np.arange(rows) * (height + gap) + height / 2).tolist()
    labels = [f"{dimensions.label(d)}   {dimensions.information[d]:.2f}" for d in dimensions.order[:rows].tolist()]
    axes.set_yticks(middles, labels, fontsize=SMALL, color=INK)
    axes.set_xticks([])


def traversal_figure(images: Images, dimensions: Dimensions) -> Figure:
    """The traversals as one picture."""
    rows, columns, height, width = images.shape[:4]
    figure = sheet((WIDTH - 1.3) * rows * height / (columns * width) + 0.2)
    show_traversals(figure.subplots(), images, dimensions)
    return figure


def reconstruction_figure(images: Images) -> Figure:
    """Originals above reconstructions as one picture."""
    _, columns, height, width = images.shape[:4]
    figure = sheet((WIDTH - 0.9) * 2 * height / (columns * width) + 0.2)
    axes = boxless(figure.subplots())
    gap = max(1, height // 16)
    axes.imshow(mosaic(images, gap), interpolation="nearest")
    axes.set_yticks([height / 2, height * 1.5 + gap], ["original", "through the code"], fontsize=SMALL, color=INK)
    axes.set_xticks([])
    return figure
