"""Strokes: the coordinate of a run on digits that knows the stroke's thickness, and what it does to each digit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count
from hatchel.data.mnist import thickness
from hatchel.studies.tasks.digits import STOPS, judge_of, sampled, split_codes
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

RANGE = 3.0
"""The coordinate is moved from -3 to 3 (Esmaeili et al. 2019, Fig. 7)."""


class Strokes(Task):
    """Moves the coordinate with the largest R² to the thickness of real digits, from -3 to 3, for some of each digit.

    `known` is that R²; `kept` the share of images that a judge (logistic regression on pixels) still names as before;
    `grows` the ratio of the mean thickness at the two ends, the larger to the smaller.
    """

    run: RunSpec
    """What is trained, on images of one channel; its seed is the task's."""
    items: Count = 10_000
    """Real images that the judge and the thickness are learned from."""
    each: Count = 20
    """Images of each digit that are traversed."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.metrics.information import squared_correlations

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        labels, images = sampled(run, self.items, self.seed)
        codes, real, _ = split_codes(run, images)
        known = squared_correlations(codes[:, real].astype(np.float64), thickness(images[..., 0]))
        d = real[int(known.argmax())]
        named, _ = judge_of(images, labels)
        classes = np.unique(labels)
        chosen = np.concatenate([np.flatnonzero(labels == c)[: self.each] for c in classes])
        moved = np.repeat(codes[chosen], STOPS, axis=0)
        stops = np.linspace(-RANGE, RANGE, STOPS)
        moved[:, d] = np.tile(stops, len(chosen))
        pictures = run.decode(moved)
        of = np.repeat(labels[chosen], STOPS)
        width = thickness((pictures[..., 0] * 255).astype(np.uint8)).reshape(-1, STOPS)
        means = {str(c): width[labels[chosen] == c].mean(axis=0).tolist() for c in classes}
        ends = width[:, [0, -1]].mean(axis=0)
        values = {
            "known": float(known.max()),
            "kept": float((named(pictures) == of).mean()),
            "grows": float(ends.max() / max(ends.min(), 1e-9)),
        }
        details: dict[str, Any] = {"coordinate": d, "stops": stops.tolist(), "thickness": means}
        return Result(values, details | {"strips": _strips(pictures, labels[chosen], classes)})


def _strips(pictures: NDArray[np.float32], labels: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[str, Any]:
    """The first image of each class along the coordinate."""
    grid = (pictures * 255).astype(np.uint8).reshape(-1, STOPS, *pictures.shape[1:3])
    return {str(c): [grid[int(np.flatnonzero(labels == c)[0])].tolist()] for c in classes}
