"""Metric: the family's root. A member says what it needs of a Probe and how to measure it.

One file a metric, named after the metric's function with an underscore in front (`_mig.py` holds the function `mig`
and the Spec `MIG`), so that `hatchel.metrics.mig` is always the function and never the module.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec, to_dict
from hatchel.metrics.inputs import Seed, generator
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Interval, Score

NEEDS: Mapping[str, str] = {
    "factors": "the factors of every row",
    "samples": "samples of q(z|x)",
    "std": "the standard deviations of q(z|x)",
    "features": "the features of the encoder's layers",
    "others": "codes of other models for the same rows",
    "others_std": "standard deviations of the other models' codes",
    "clusters": "a discrete latent: one cluster number per row",
    "images": "images and their reconstructions",
}
"""What a Probe may hold beyond the codes, in words."""


class Metric(Spec, ABC, family="metric", home="hatchel.metrics"):
    """A number that says how well codes stand for factors."""

    needs: ClassVar[tuple[str, ...]] = ("factors",)
    """Which optional parts of the Probe it reads: keys of NEEDS."""
    also_needs: ClassVar[Mapping[tuple[str, str], str]] = {}
    """What an option adds to that: {(field, value): need}."""
    lower_is_better: ClassVar[bool] = False
    intervention: ClassVar[bool] = False
    """Whether it holds one factor fixed while the others vary, so that rows must share factor values."""

    def score(self, probe: Probe, rng: Seed = 0, bootstrap: int = 0) -> Score:
        """The score on a probe; `bootstrap` replicates resample the rows for a 95 % interval."""
        reason = self.missing(probe)
        if reason:
            raise HatchelError(f"{self.kind}: needs {reason}")
        random = generator(rng)
        result = self.measure(probe, random)
        interval = None
        if bootstrap:
            draws = [self.measure(probe.resampled(random), random).value for _ in range(bootstrap)]
            interval = Interval.of(np.array(draws), result.value)
        seed = rng if isinstance(rng, int) else None
        return dataclasses.replace(result, seed=seed, interval=interval)

    @abstractmethod
    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """The score itself, made with `self.result`."""

    def missing(self, probe: Probe) -> str | None:
        """Why this probe is not enough, in words; None if it is."""
        chosen = [need for (name, value), need in self.also_needs.items() if getattr(self, name) == value]
        lacking = [NEEDS[need] for need in dict.fromkeys((*self.needs, *chosen)) if getattr(probe, need) is None]
        if self.intervention and not lacking and (probe.sizes[probe.varying] > probe.n / 2).any():
            lacking = ["a factor grid, or at least several rows for every factor value"]
        return " and ".join(lacking) or None

    @property
    def variant(self) -> str:
        """The kind with every option that differs from its default: `mig(bins=10)`."""
        changed = [f for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        options = ", ".join(f"{f.name}={to_dict(getattr(self, f.name))}" for f in changed)
        return f"{self.kind}({options})" if options else self.kind

    def result(
        self,
        probe: Probe,
        value: float,
        *,
        parts: Mapping[str, Any] | None = None,
        matrix: NDArray[np.float64] | None = None,
        n: int | None = None,
        notes: Sequence[str] = (),
    ) -> Score:
        """A Score that carries this metric's variant and settings and the probe's own notes."""
        settings = {k: v for k, v in to_dict(self).items() if k != "kind"}
        columns = probe.names if matrix is not None and matrix.shape[1] == len(probe.names) else ()
        return Score(
            self.variant, float(value), parts or {}, matrix, columns, settings, n or probe.n,
            notes=(*probe.notes, *notes),
        )  # fmt: skip
