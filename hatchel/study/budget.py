"""Budget: how much a study spends on each training run at a scale, and on which data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hatchel.data.dsprites import DSprites
from hatchel.data.shapes3d import Shapes3D
from hatchel.data.source import Source
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.metrics.metric import Metric
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.study.cells.trained import Trained, metrics
from hatchel.study.study import Scale

STANDARD = metrics(
    "mig", "sap", "dci", "factor_vae_score", "modularity", "gaussian_tc", "reconstruction", "elbo_terms", "active_units"
)
"""Measured of every model, so that studies that train the same model share its cell."""
QUICK = metrics("mig", "gaussian_tc", "reconstruction")
"""What a smoke run measures."""
NETWORK: Mapping[str, Any] = {"encoder": "conv", "decoder": "deconv", "latent": {"kind": "diagonal", "dim": 10}}
"""One network for all methods below the paper's own scale, so that they differ in the method alone."""


@dataclass(frozen=True)
class Budget:
    """Steps and seeds, and where they differ from the method's own: batch size and learning rate."""

    steps: int
    seeds: int
    items: int = 10_000
    """Encoded for the metrics."""
    batch_size: int | None = None
    lr: float | None = None
    metrics: tuple[Metric, ...] = STANDARD

    def cells(
        self,
        method: str,
        data: Source,
        seeds: int | None = None,
        *,
        symbols: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        measure: Mapping[str, Any] | None = None,
    ) -> list[Trained]:
        """A method with its symbols on data, one cell a seed; `fields` of the run, then of the cell."""
        own: dict[str, Any] = {"steps": self.steps}
        own |= {"batch_size": self.batch_size} if self.batch_size else {}
        own |= {"optimizer.lr": self.lr} if self.lr else {}
        spec = resolve(method, data, own | dict(symbols or {}) | dict(fields or {}))
        rest: dict[str, Any] = {"metrics": self.metrics, "items": self.items} | dict(measure or {})
        # The run's own seed stays 0: the cell sets it.
        return [Trained(seed=seed, run=spec, **rest) for seed in range(seeds or self.seeds)]


def critic(scale: Scale) -> dict[str, Any]:
    """The discriminator of FactorVAE and RTC-VAE: the paper's 1000 units a layer, 256 on a laptop."""
    return {} if scale == "paper" else {"by": DensityRatio(hidden=256)}


SMOKE = Budget(steps=3, seeds=1, items=200, batch_size=16, metrics=QUICK)
LAPTOP = Budget(steps=3_000, seeds=3, batch_size=32, lr=1e-3)
SMOKE_WORDS = "3 steps on 64 images of a moving square: shows that it runs, says nothing"
LAPTOP_WORDS = (
    "3,000 steps of 32 images, dSprites at 32 px, learning rate 1e-3, conv network, D = 10, "
    "discriminators of 256 units, schedules as short as the training, 3 seeds"
)


def sprites(scale: Scale) -> Source:
    """dSprites at 64 px, at 32 px on a laptop; a tiny stand-in for smoke."""
    return XYSquares(size=32) if scale == "smoke" else DSprites(size=32 if scale == "laptop" else 64)


def rooms(scale: Scale) -> Source:
    """Shapes3D, in the same way."""
    return XYSquares(size=32) if scale == "smoke" else Shapes3D(size=32 if scale == "laptop" else 64)
