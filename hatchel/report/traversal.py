"""Traversal: codes in which one dimension moves over the data's range and all others stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.information import Float
from hatchel.report.dimensions import Dimensions

STEPS = 11
"""Images in a row; odd, so that there is a middle one."""
ROWS = 12
"""Dimensions traversed at most, the most informative ones."""


def typical(codes: NDArray[np.floating], dimensions: Dimensions) -> NDArray[np.floating]:
    """(n, D) -> (D,): the item nearest to the median code, each dimension on the scale of its own range.

    A real item's code, since the median of each dimension by itself may be a code that no item has. Its classes are
    decided: a digit stays that digit while its style moves.
    """
    width, weight = np.ones(codes.shape[1]), np.zeros(codes.shape[1])
    for d, site in enumerate(dimensions.sites):
        columns = list(site.columns)
        width[columns] = max(dimensions.high[d] - dimensions.low[d], 1e-12)
        weight[columns] = max(dimensions.information[d], 0.0)
    distance = ((codes - np.median(codes, axis=0)) / width) ** 2
    chosen = codes[(distance @ weight).argmin()].copy()
    for site in dimensions.sites:
        if site.discrete:
            columns = list(site.columns)
            chosen[columns] = np.eye(len(columns))[chosen[columns].argmax()]
    return chosen


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
