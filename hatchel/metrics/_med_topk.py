"""Top-k MED, for high-dimensional codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics._med import information_shares, most_disentangled
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers.importance import weighted_concentration


class MEDTopk(Metric):
    """MED over at most k dimensions a factor: the most disentangled of those it leads (Cao et al. 2022).

    The importances are MED's over all dimensions; only then are the others left out.
    """

    k: Count = 2
    "Dimensions kept for each factor."
    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        importance = information_shares(probe, self.bins)
        kept = most_disentangled(importance[:, probe.varying], self.k)
        parts = {"completeness": weighted_concentration(kept.T), "dimensions": len(kept)}
        return self.result(probe, weighted_concentration(kept), parts=parts, matrix=importance)


def med_topk(
    codes: Any,
    factors: Any,
    *,
    k: int = 2,
    bins: int = 20,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """Top-k MED of `codes` (n, D) for `factors` (n, K); see MEDTopk."""
    return MEDTopk(k, bins).score(Probe(codes, factors, names=names, continuous=continuous), seed, bootstrap)
