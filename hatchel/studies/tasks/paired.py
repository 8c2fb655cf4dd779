"""Paired: the codes of a run's most used coordinates, to be drawn in pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hatchel.core.spec import Count
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec


class Paired(Task):
    """Means and samples of the coordinates whose means vary most, with the factor that one of them knows best.

    `r2` is the largest R² between a coordinate and a factor: the colour of the points (RTC-VAE 2020, Figs. 5 to 7).
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 600
    """Points."""
    coordinates: Count = 4
    """Rows and columns of the grid."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import encodings
        from hatchel.metrics.information import squared_correlations

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        found = encodings(run, self.items, seed=0)
        data = run.data
        factors = data.factors(found.items)
        assert factors is not None
        assert data.space is not None
        chosen = np.argsort(-found.mean.var(axis=0), kind="stable")[: self.coordinates]
        means, samples = (codes[:, chosen].astype(np.float64) for codes in (found.mean, found.sample))
        known = np.stack([squared_correlations(means, f.astype(np.float64)) for f in factors.T])  # (factors, rows)
        best = int(known.max(axis=1).argmax())
        details: dict[str, Any] = {
            "coordinates": chosen.tolist(),
            "means": means.round(3).tolist(),
            "samples": samples.round(3).tolist(),
            "factor": data.space.names[best],
            "values": factors[:, best].tolist(),
        }
        return Result({"r2": float(known.max())}, details)
