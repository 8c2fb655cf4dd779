"""What the papers' studies share: budgets, data, the network and the metrics. The engine knows nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hatchel.data.dsprites import DSprites
from hatchel.data.shapes3d import Shapes3D
from hatchel.data.source import Source
from hatchel.data.xy_squares import XYSquares
from hatchel.metrics.metric import Metric
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.study.grid import Grid, Scale, Setting, metrics, trained

STANDARD = metrics(
    "mig", "sap", "dci", "factor_vae_score", "modularity", "gaussian_tc", "reconstruction", "elbo_terms", "active_units"
)
"""Measured of every model, so that studies that train the same model share its task."""
QUICK = metrics("mig", "gaussian_tc", "reconstruction")
"""What a smoke run measures."""
FREE: Mapping[str, Any] = {"encoder": "conv", "decoder": "deconv"}
"""One network for all methods below the paper's own scale, so that they differ in the method alone."""
NETWORK: Mapping[str, Any] = {**FREE, "latent": {"kind": "diagonal", "dim": 10}}
"""The same for methods that do not choose their own latent."""


@dataclass(frozen=True)
class Budget:
    """Steps and seeds of every training at a scale, and where they differ from the method's own: batch and rate."""

    steps: int
    seeds: int
    items: int = 10_000
    """Encoded for the metrics."""
    batch_size: int | None = None
    lr: float | None = None
    metrics: tuple[Metric, ...] = STANDARD

    def grid(
        self, settings: Sequence[Setting], data: Source, base: Mapping[str, Any] | None = None, note: str = ""
    ) -> Grid:
        """A training for every setting, over the seeds; `base` is the same for all."""
        own: dict[str, Any] = {"data": data, "metrics": self.metrics, "items": self.items, "steps": self.steps}
        own |= {"batch_size": self.batch_size} if self.batch_size else {}
        own |= {"optimizer.lr": self.lr} if self.lr else {}
        return Grid(tuple(trained(settings, {**own, **(base or {})})), self.seeds, note)


SMOKE = Budget(steps=3, seeds=1, items=200, batch_size=16, metrics=QUICK)
LAPTOP = Budget(steps=3_000, seeds=3, batch_size=32, lr=1e-3)
SHORT = "conv network, D = 10, discriminators of 256 units, schedules as short as the training"
"""Said of the laptop scale, beside its numbers."""


def budget(scale: Scale, paper: Budget, **changes: Any) -> Budget:
    """The budget of a scale: the paper's own, or one of the two that all studies share, changed if need be."""
    return {"smoke": SMOKE, "laptop": replace(LAPTOP, **changes), "paper": replace(paper, **changes)}[scale]


def note(scale: Scale, laptop: str = "", paper: str = "") -> str:
    """What a scale's numbers do not say."""
    return {"smoke": "", "laptop": "; ".join(filter(None, (SHORT, laptop))), "paper": paper}[scale]


def critic(scale: Scale) -> dict[str, Any]:
    """The discriminator of FactorVAE and RTC-VAE: the paper's 1000 units a layer, 256 on a laptop."""
    return {} if scale == "paper" else {"by": DensityRatio(hidden=256)}


def sprites(scale: Scale) -> Source:
    """dSprites at 64 px, at 32 px on a laptop; a tiny stand-in for smoke."""
    return XYSquares(size=32) if scale == "smoke" else DSprites(size=32 if scale == "laptop" else 64)


def shapes(scale: Scale) -> Source:
    """Shapes3D, in the same way."""
    return XYSquares(size=32) if scale == "smoke" else Shapes3D(size=32 if scale == "laptop" else 64)
