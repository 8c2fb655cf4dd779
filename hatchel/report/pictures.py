"""Pictures: rows of images (reconstructions, traversals, samples) as arrays, as one picture, and as figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.style import INK, SMALL, WIDTH, boxless, sheet
from hatchel.report.traversal import ROWS, traversal_codes, typical
from hatchel.training.run import TrainedRun

Images = NDArray[np.uint8]

SHOWN = 12
"""Originals with their reconstructions."""


def reconstructions(found: Findings, count: int = SHOWN, seed: int = 0) -> Images:
    """Originals above, what comes back through the mean code below, level by level: (1 + levels, n, H, W, C)."""
    items = found.encoded.items
    chosen = np.random.default_rng(seed).choice(items, min(count, len(items)), replace=False)
    originals = found.run.data.images(chosen)
    back = [to_bytes(found.run.reconstruct(originals, level)) for level in range(found.run.levels)]
    return np.stack([originals, *back])


def traversals(run: TrainedRun, found: Findings, rows: int = ROWS) -> tuple[Images, list[int]]:
    """The decoded traversal (R, STEPS, H, W, C), and how many images of each row are meant."""
    codes, counts = traversal_codes(typical(found.probe.codes, found.dimensions), found.dimensions, rows)
    return decoded(run, codes), counts


def decoded(run: TrainedRun, codes: NDArray[np.float32], level: int = 0) -> Images:
    """Codes (R, n, D) as images (R, n, H, W, C)."""
    channels, height, width = run.shape
    images = to_bytes(run.decode(codes.reshape(-1, codes.shape[2]), level))
    return images.reshape(*codes.shape[:2], height, width, channels)


def to_bytes(images: NDArray[np.floating]) -> Images:
    """[0, 1] to 0..255, rounded."""
    return (np.clip(images, 0, 1) * 255 + 0.5).astype(np.uint8)


def mosaic(images: Images, gap: int = 1, counts: Sequence[int] | None = None) -> Images:
    """(R, n, H, W, C) -> one picture (.., .., 4) with transparent gaps; of row r only the first counts[r] images.

    >>> mosaic(np.full((1, 2, 4, 4, 1), 255, np.uint8)).shape
    (4, 9, 4)
    """
    rows, columns, height, width, channels = images.shape
    sheet_ = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 4), dtype=np.uint8)
    for r in range(rows):
        for c in range(columns if counts is None else counts[r]):
            place = sheet_[r * (height + gap) :, c * (width + gap) :][:height, :width]
            place[..., :3] = images[r, c][..., :3] if channels >= 3 else images[r, c][..., :1]
            place[..., 3] = 255
    return sheet_


def show_rows(axes: Axes, images: Images, labels: Sequence[str], counts: Sequence[int] | None = None) -> None:
    """Rows of images on given axes, each with its label on the left."""
    height = images.shape[2]
    gap = max(1, height // 16)
    boxless(axes).imshow(mosaic(images, gap, counts), interpolation="nearest")
    middles = (np.arange(len(images)) * (height + gap) + height / 2).tolist()
    axes.set_yticks(middles, labels, fontsize=SMALL, color=INK)
    axes.set_xticks([])


def rows_figure(images: Images, labels: Sequence[str], counts: Sequence[int] | None = None) -> Figure:
    """Labelled rows of images as one picture."""
    rows, columns, height, width = images.shape[:4]
    beside = 0.1 + 0.062 * max(map(len, labels))
    figure = sheet((WIDTH - beside) * rows * height / (columns * width) + 0.2)
    show_rows(figure.subplots(), images, labels, counts)
    return figure


def traversal_labels(dimensions: Dimensions, rows: int) -> list[str]:
    """Dimension, factor and information of each row."""
    return [f"{dimensions.label(d)}   {dimensions.information[d]:.2f}" for d in dimensions.order[:rows].tolist()]


def reconstruction_labels(levels: int) -> list[str]:
    """Of the originals and of each level.

    >>> reconstruction_labels(1), reconstruction_labels(2)
    (['original', 'through the code'], ['original', 'level 0', 'level 1'])
    """
    return ["original", *(["through the code"] if levels == 1 else [f"level {i}" for i in range(levels)])]
