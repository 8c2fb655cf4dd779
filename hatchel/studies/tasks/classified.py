"""Classified: what a linear classifier reads out of a representation that was learned without labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count, Share
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.metrics.solvers.logistic import logistic_regression
from hatchel.studies.tasks.digits import linear_classifier
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Of the labels (Chen et al. 2022, section 5.2)."""


class Classified(Task):
    """Accuracy on test images of a linear classifier that was given a share of the training images' labels.

    It reads the posterior means of a run, standardised, or the pixels themselves: the paper's single-layer network. The
    class is the last factor of the data.
    """

    train: Source
    """Images with labels."""
    test: Source
    """Images that neither the classifier nor the run has seen."""
    run: RunSpec | None = None
    """What is trained on the training images; its seed is the task's. Without one, the pixels are read."""
    labels: Count = 60_000
    """Labels at most, of which the shares are taken."""
    shares: tuple[Share, ...] = SHARES
    """Of the labels."""

    def compute(self, workspace: Workspace) -> Result:
        shown, unseen = self.train.load(), self.test.load()
        labelled = np.random.default_rng(self.seed).permutation(len(shown))[: self.labels]
        everything = np.arange(len(unseen))
        named, truth = _classes(shown, labelled), _classes(unseen, everything)
        read = self._reader(workspace)
        codes, asked = read(shown.images(labelled)), read(unseen.images(everything))
        values: dict[str, float] = {}
        for share in self.shares:
            n = max(1, round(share * len(labelled)))
            values[accuracy(share)] = float((self._answers(codes[:n], named[:n], asked) == truth).mean())
        return Result(values)

    def _reader(self, workspace: Workspace) -> Callable[[NDArray[np.uint8]], NDArray[Any]]:
        """Codes or pixels of images: (n, D)."""
        if self.run is None:
            return lambda images: images.reshape(len(images), -1) / np.float32(255)
        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        return lambda images: run.encode(images).astype(np.float64)

    def _answers(self, codes: NDArray[Any], named: NDArray[np.int64], asked: NDArray[Any]) -> NDArray[Any]:
        """The classes of the codes that are asked for, from those that have a name."""
        if self.run is None:
            return linear_classifier(codes, named).predict(asked)
        centre, spread = codes.mean(axis=0), codes.std(axis=0)
        codes, asked = ((c - centre) / np.where(spread > 0, spread, 1.0) for c in (codes, asked))
        return logistic_regression(codes, named).predict(asked)


def accuracy(share: float) -> str:
    """What the value is called."""
    return f"accuracy {share:g}"


def _classes(data: Dataset, items: NDArray[np.int64]) -> NDArray[np.int64]:
    factors = data.factors(items)
    assert factors is not None
    return factors[:, -1]
