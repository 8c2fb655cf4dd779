"""Budget: how much a study spends on each training run at a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hatchel.data.source import Source
from hatchel.presets.preset import preset
from hatchel.spec import updated
from hatchel.study.cells.trained import Trained, metrics

STANDARD = metrics(
    "mig", "sap", "dci", "factor_vae_score", "modularity", "gaussian_tc", "reconstruction", "elbo_terms", "active_units"
)
"""Measured of every model, so that studies that train the same model share its cell."""


@dataclass(frozen=True)
class Budget:
    """Steps and seeds, and where they differ from the method's own: batch size and learning rate."""

    steps: int
    seeds: int
    items: int = 10_000
    """Encoded for the metrics."""
    batch_size: int | None = None
    lr: float | None = None

    def cells(
        self,
        method: str,
        data: Source,
        seeds: int | None = None,
        *,
        symbols: dict[str, Any] | None = None,
        fields: dict[str, Any] | None = None,
        measure: dict[str, Any] | None = None,
    ) -> list[Trained]:
        """A method with its symbols on data, one cell a seed; `fields` of the run, then of the cell."""
        spec = preset(method, data=data, **(symbols or {}))
        own: dict[str, Any] = {"steps": self.steps}
        own |= {"batch_size": self.batch_size} if self.batch_size else {}
        own |= {"optimizer.lr": self.lr} if self.lr else {}
        spec = updated(spec, own | (fields or {}))
        rest = {"metrics": STANDARD, "items": self.items} | (measure or {})
        # The run's own seed stays 0: the cell sets it, and so equal runs have equal digests.
        return [Trained(seed=seed, run=spec, **rest) for seed in range(seeds or self.seeds)]
