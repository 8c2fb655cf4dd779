"""RMIG: the robust mutual information gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.aggregate import DRAWS, POSTERIORS, Aggregate
from hatchel.metrics.information import gap
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class RMIG(Metric):
    """The gap between the two most informative dimensions, with I(z_d; v_k) from q(z|x) itself (Do & Tran 2020).

    RMIG_k = I(z_i; v_k) - I(z_j; v_k) in nats (the parts); the value is the mean of RMIG_k / H(v_k).
    """

    needs: ClassVar[tuple[str, ...]] = ("factors", "std")

    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        matrix = q.information(probe)
        gaps = gap(matrix)[probe.varying]
        parts = {probe.names[k]: float(g) for k, g in zip(probe.varying, gaps, strict=True)}
        value = (gaps / probe.entropies[probe.varying]).mean()
        return self.result(probe, value, parts=parts, matrix=matrix, notes=q.notes)


def rmig(
    codes: Any,
    factors: Any,
    std: Any,
    *,
    draws: int = DRAWS,
    posteriors: int = POSTERIORS,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    seed: Seed = 0,
    bootstrap: int = 0,
) -> Score:
    """RMIG of q(z|x) = N(`codes`, `std`^2), both (n, D), for `factors` (n, K); see RMIG."""
    probe = Probe(codes, factors, std=std, names=names, continuous=continuous)
    return RMIG(draws, posteriors).score(probe, seed, bootstrap)
