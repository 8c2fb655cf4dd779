"""ZeroShot: what a run on digits makes of thick sevens and narrow zeros, which it may never have seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count
from hatchel.data.decode import Pixels
from hatchel.data.mnist import PrunedMNIST, thickness, width
from hatchel.studies.tasks.digits import split_codes
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

FEATURES: Mapping[str, tuple[int, Callable[[Pixels], NDArray[np.float64]]]] = {
    "thickness of 7s": (7, thickness),
    "width of 0s": (0, width),
}
"""What was pruned: the digit, and how it is measured in the image."""
BINS = 24


class ZeroShot(Task):
    """The error of a run's reconstructions of the images that were taken out and of those that were left.

    Beside it, for each feature: the values of the coordinate with the largest R² to it, on kept and on removed images,
    and the chance that it tells a removed one from a kept one (area under the ROC curve).
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 1_000
    """Images of each kind at most."""

    def compute(self, workspace: Workspace) -> Result:
        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        values: dict[str, float] = {}
        details: dict[str, Any] = {"histograms": {}}
        images: dict[str, Pixels] = {}
        digits: dict[str, NDArray[np.int64]] = {}
        for part in ("removed", "kept"):
            digits[part], images[part] = self._digits(part)
            rebuilt = run.reconstruct(images[part]).clip(1e-6, 1 - 1e-6)
            x = images[part] / np.float32(255)
            values[part] = float(-(x * np.log(rebuilt) + (1 - x) * np.log(1 - rebuilt)).sum(axis=(1, 2, 3)).mean())
            details[part] = [images[part][:8, ..., 0].tolist(), (rebuilt[:8, ..., 0] * 255).astype(np.uint8).tolist()]
        values["gap"] = values["removed"] - values["kept"]
        for name, (digit, feature) in FEATURES.items():
            removed, kept = (images[p][digits[p] == digit] for p in ("removed", "kept"))
            found, told = histogram(run, removed, kept, feature)
            details["histograms"][name] = found
            values[f"told apart: {name}"] = told
        return Result(values, details)

    def _digits(self, part: Any) -> tuple[NDArray[np.int64], Pixels]:
        """Sevens and zeros of one part, as many of each."""
        data = PrunedMNIST(part=part, size=28).load()
        factors = data.factors(np.arange(len(data)))
        assert factors is not None
        order = np.random.default_rng(self.seed).permutation(len(data))
        share = -(-self.items // 2)
        chosen = np.sort(np.concatenate([order[factors[order, 0] == digit][:share] for digit in (7, 0)]))
        return factors[chosen, 0], data.images(chosen)


def histogram(
    run: TrainedRun, removed: Pixels, kept: Pixels, feature: Callable[[Pixels], NDArray[np.float64]]
) -> tuple[dict[str, Any], float]:
    """Counts of the coordinate that knows the feature best, and how far it tells removed from kept."""
    from sklearn.metrics import roc_auc_score

    from hatchel.metrics.information import squared_correlations

    images = np.concatenate([removed, kept])
    codes, real, _ = split_codes(run, images)
    codes = codes[:, real].astype(np.float64)
    best = int(squared_correlations(codes, feature(images[..., 0])).argmax())
    edges = np.histogram_bin_edges(codes[:, best], BINS)
    parts = {"removed": codes[: len(removed), best], "kept": codes[len(removed) :, best]}
    counts = {part: np.histogram(values, edges, density=True)[0].tolist() for part, values in parts.items()}
    told = float(roc_auc_score(np.arange(len(images)) < len(removed), codes[:, best]))
    return {"coordinate": real[best], "edges": edges.tolist(), **counts}, max(told, 1 - told)
