"""Pictures: rows of images (reconstructions, traversals, samples) as arrays, as one picture, and as figures.

A traversal is a row of codes in which one dimension moves over the data's range and all others stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hatchel.latents.layout import Site
from hatchel.metrics.information import Float
from hatchel.report.dimensions import ACTIVE, Dimensions
from hatchel.report.findings import Findings
from hatchel.report.style import INK, SMALL, WIDTH, boxless, new_figure
from hatchel.training.run import TrainedRun

Images = NDArray[np.uint8]

SHOWN = 12
"""Originals with their reconstructions."""
STEPS = 11
"""Images in a row; odd, so that there is a middle one."""
ROWS = 12
"""Dimensions traversed at most, the most informative ones."""


def reconstructed(found: Findings, count: int = SHOWN, seed: int = 0) -> Images:
    """Originals above, what comes back through the mean code below, level by level: (1 + levels, n, H, W, C)."""
    encoded, run = found.encoded, found.run
    rows = np.random.default_rng(seed).choice(len(encoded.items), min(count, len(encoded.items)), replace=False)
    originals = run.data.images(encoded.items[rows])
    back = [to_bytes(run.decode(codes.mean[rows], level)) for level, codes in enumerate(encoded.levels)]
    return np.stack([originals, *back])


def traversed(run: TrainedRun, found: Findings, rows: int = ROWS) -> tuple[Images, list[int]]:
    """The decoded traversal (R, STEPS, H, W, C), and how many images of each row are meant."""
    codes, counts = traversal_codes(clearest(run, found.probe.codes, found.dimensions), found.dimensions, rows)
    return decoded(run, codes), counts


def decoded(run: TrainedRun, codes: NDArray[np.float32]) -> Images:
    """Codes (R, n, D) as images (R, n, H, W, C)."""
    channels, height, width = run.shape
    images = to_bytes(run.decode(codes.reshape(-1, codes.shape[2])))
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
    picture = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 4), dtype=np.uint8)
    for r in range(rows):
        for c in range(columns if counts is None else counts[r]):
            place = picture[r * (height + gap) :, c * (width + gap) :][:height, :width]
            place[..., :3] = images[r, c][..., :3] if channels >= 3 else images[r, c][..., :1]
            place[..., 3] = 255
    return picture


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
    figure = new_figure((WIDTH - beside) * rows * height / (columns * width) + 0.2)
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


def typical(codes: NDArray[np.floating], dimensions: Dimensions) -> NDArray[np.floating]:
    """(n, D) -> (D,): the item nearest to the median code, each dimension on the scale of its own range.

    A real item's code, since the median of each dimension by itself may be a code that no item has. Its classes are
    decided: a digit stays that digit while its style moves.
    """
    return _decided(codes[_nearest(codes, dimensions, 1)], dimensions)[0]


def clearest(run: TrainedRun, codes: NDArray[np.floating], dimensions: Dimensions) -> NDArray[np.floating]:
    """(n, D) -> (D,): the code of `clearest_row`, its classes decided."""
    return _decided(codes[[clearest_row(run, codes, dimensions)]], dimensions)[0]


def clearest_row(run: TrainedRun, codes: NDArray[np.floating], dimensions: Dimensions) -> int:
    """Of the rows nearest to the median code, 5 % or 40, the one on which every dimension shows.

    What a dimension does to an object cannot be seen if that has the colour of what is behind it. So: how much the
    picture changes from one end of a dimension to the other, as a share of the most on any of these items; of the
    dimensions the least visible one, but for those with less than a tenth of the information of the first; of the items
    the one where that shows most.
    """
    rows = _nearest(codes, dimensions, min(40, max(1, len(codes) // 20)))
    near = _decided(codes[rows], dimensions)
    ends = np.array([0.0, 1.0])
    told = dimensions.information
    dims = [d for d in dimensions.order[:ROWS].tolist() if told[d] >= max(ACTIVE, told.max() / 10)]
    dims = dims or dimensions.order[:1].tolist()
    moving = np.concatenate([moved(code, dimensions, d, ends) for code in near for d in dims])
    images = run.decode(moving).reshape(len(near), len(dims), 2, -1)
    changes = np.abs(images[:, :, 1] - images[:, :, 0]).mean(axis=-1)
    return int(rows[(changes / np.maximum(changes.max(axis=0), 1e-12)).min(axis=1).argmax()])


def _nearest(codes: NDArray[np.floating], dimensions: Dimensions, count: int) -> NDArray[np.int64]:
    """The rows nearest to the median code, (count,)."""
    width, weight = np.ones(codes.shape[1]), np.zeros(codes.shape[1])
    for d, site in enumerate(dimensions.sites):
        columns = list(site.columns)
        width[columns] = max(dimensions.high[d] - dimensions.low[d], 1e-12)
        weight[columns] = max(dimensions.information[d], 0.0)
    distance = ((codes - np.median(codes, axis=0)) / width) ** 2
    return np.argsort(distance @ weight, kind="stable")[:count]


def _decided(codes: NDArray[np.floating], dimensions: Dimensions) -> NDArray[np.floating]:
    """With the most probable class of every discrete variable alone."""
    for site in dimensions.sites:
        if site.discrete:
            columns = list(site.columns)
            codes[:, columns] = np.eye(len(columns))[codes[:, columns].argmax(axis=1)]
    return codes


def moved(start: NDArray[np.floating], dimensions: Dimensions, d: int, shares: Float) -> NDArray[np.float32]:
    """`start` (D,) with dimension d at these shares of its range, from 0 (low) to 1 (high): (n, D).

    A class goes from its first value to its last along the edges of the simplex, two neighbouring values mixed.
    """
    codes = np.tile(np.asarray(start, dtype=np.float32), (len(shares), 1))
    site = dimensions.sites[d]
    if not site.discrete:
        codes[:, site.columns[0]] = dimensions.low[d] + shares * (dimensions.high[d] - dimensions.low[d])
        return codes
    place = shares * (len(site.columns) - 1)
    codes[:, site.columns] = np.clip(1 - np.abs(place[:, None] - np.arange(len(site.columns))), 0, 1)
    return codes


def stops(dimensions: Dimensions, d: int, steps: int = STEPS) -> Float:
    """The shares shown in a row: equally spaced; of a class its values, `steps` of them where it has more.

    >>> stops(Dimensions(np.ones(1), np.zeros(1), np.ones(1)), 0, steps=3)
    array([0. , 0.5, 1. ])
    """
    site = dimensions.sites[d]
    if not site.discrete:
        return np.linspace(0, 1, steps)
    last = len(site.columns) - 1
    return np.unique(np.linspace(0, last, min(steps, last + 1)).round()) / last


def traversal_codes(
    start: NDArray[np.floating], dimensions: Dimensions, rows: int = ROWS
) -> tuple[NDArray[np.float32], list[int]]:
    """One dimension a row, by information: codes (R, STEPS, D), and how many of each row are meant.

    A class of fewer values than STEPS leaves the end of its row empty.
    """
    parts: list[NDArray[np.float32]] = []
    counts: list[int] = []
    for d in dimensions.order[:rows].tolist():
        codes = moved(start, dimensions, d, stops(dimensions, d))
        counts.append(len(codes))
        parts.append(np.concatenate([codes, codes[-1:].repeat(STEPS - len(codes), axis=0)]))
    return np.stack(parts), counts


def group_codes(
    codes: NDArray[np.float32], start: NDArray[np.floating], variables: Sequence[Site], group: str
) -> NDArray[np.float32]:
    """(n, D): the sites of one group as in `codes`, all others as in `start`."""
    result = np.tile(np.asarray(start, dtype=np.float32), (len(codes), 1))
    columns = [c for s in variables if s.group == group for c in s.columns]
    result[:, columns] = codes[:, columns]
    return result
