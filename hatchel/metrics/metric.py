"""Metric: the family's root. A member states what it needs of a Probe, how to measure it, and how its interval is made.

Metrics are in files with an underscore in front, such as `_mig.py`: from the fields of the Spec `MIG` there, the
function `hatchel.metrics.mig` is derived, and that name is always the function, never a module.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate
from hatchel.core.spec import Spec, to_dict
from hatchel.metrics.inputs import Float, Seed, whole
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score

Measure = Callable[[Probe], float]
REPLICATES = 200
"""Where the caller does not say how many."""


@dataclass(frozen=True)
class Bootstrap:
    """As many rows as there are, drawn with replacement (Efron 1979); every row stays on its side of the split."""

    most: int | None = None
    """Replicates, where one takes long."""

    def count(self, asked: int | None) -> int:
        """How many replicates are made where so many are asked for; None: as many as usual."""
        return min(REPLICATES if asked is None else whole(asked, "bootstrap"), self.most or sys.maxsize)

    def describe(self, n: int) -> str:
        """What an interval on n rows comes from."""
        return "resamples"

    def draws(
        self, measure: Measure, probe: Probe, rng: np.random.Generator, replicates: int, split: bool = False
    ) -> Float:
        """The score of every replicate, up to a constant; their spread is that of scores on all rows.

        `split`: the score needs rows on both sides of the split.
        """
        return np.array([measure(probe.resampled(rng, split)) for _ in range(replicates)])


@dataclass(frozen=True)
class Subsampling(Bootstrap):
    """m out of n rows, drawn without replacement (Politis & Romano 1994), for metrics that fit a predictor.

    A mean of m out of n rows varies by sigma²/m (1 - m/n); over all rows, by sigma²/n. So deviations are scaled by
    sqrt(m / (n - m)). A fit on m rows costs m/n of one on a full resample, and no row is on both sides of a split.
    Where there are fewer than 2 m rows, the bootstrap takes its place.
    """

    rows: int = 3000
    """m."""

    def describe(self, n: int) -> str:
        return "resamples" if n < 2 * self.rows else f"subsamples of {self.rows:,}"

    def draws(
        self, measure: Measure, probe: Probe, rng: np.random.Generator, replicates: int, split: bool = False
    ) -> Float:
        n, m = probe.n, self.rows
        if n < 2 * m:
            return super().draws(measure, probe, rng, replicates, split)
        parts = (np.sort(rng.choice(n, m, replace=False)) for _ in range(replicates))
        found = np.array([measure(probe.rows(part)) for part in parts])
        return (found - found.mean()) * np.sqrt(m / (n - m))


def percentile_interval(value: float, draws: Float, n: int, level: float = 0.95) -> Estimate:
    """The percentile interval (Efron 1979) of replicates, recentred on the value itself.

    Recentred, because a resample repeats rows and so every count-based information in it is too large by the same
    bias again: around 0 the plain percentiles would leave out the value.

    >>> percentile_interval(40.0, np.arange(101.0), n=500, level=0.9)
    Estimate(value=40.0, low=-5.0, high=85.0, n=500, level=0.9)
    """
    tail = 50 * (1 - level)
    low, high = np.percentile(draws - draws.mean() + value, [tail, 100 - tail])
    return Estimate(value, round(float(low), 12), round(float(high), 12), n, level)


NEEDS: Mapping[str, str] = {
    "factors": "the factors of every row",
    "samples": "samples of q(z|x)",
    "std": "the standard deviations of q(z|x)",
    "features": "the features of the encoder's layers",
    "others": "codes of other models for the same rows",
    "others_std": "standard deviations of the other models' codes",
    "clusters": "a discrete latent: one cluster number per row",
    "errors": "images and their reconstructions",
}
"""What a Probe may hold beyond the codes, in words."""


class Metric(Spec, ABC, family="metric", home="hatchel.metrics"):
    """A number that says how well codes stand for factors."""

    needs: ClassVar[tuple[str, ...]] = ("factors",)
    """Which optional parts of the Probe it must have: keys of NEEDS. Arguments of its function, in this order."""
    also_needs: ClassVar[Mapping[tuple[str, str], str]] = {}
    """What an option adds to that: {(field, value): need}."""
    accepts: ClassVar[tuple[str, ...]] = ()
    """Parts of the Probe that it uses where they are given."""
    reads_codes: ClassVar[bool] = True
    fits: ClassVar[bool] = False
    """Whether it fits a predictor on the Probe's training rows and judges it on the test rows."""
    intervention: ClassVar[bool] = False
    """Whether it holds one factor fixed while the others vary, so that rows must share factor values."""
    least_factors: ClassVar[int] = 1
    """How many factors must vary: where a metric compares factors, any code would be perfect with one."""
    lower_is_better: ClassVar[bool] = False
    interval: ClassVar[Bootstrap | None] = Bootstrap()
    """How its interval is made; None: it has none."""
    argument_names: ClassVar[Mapping[str, str]] = {}
    """{field: argument of the function}, where an array already has the field's name."""

    def score(self, probe: Probe, rng: Seed = 0, bootstrap: int | None = 0) -> Score:
        """The score on a probe; `bootstrap`: replicates, at most, for a 95 % interval (None: as many as usual)."""
        reason = self.missing(probe)
        if reason:
            raise HatchelError(f"{self.kind}: needs {reason}")
        random = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(whole(rng, "seed"))
        result = dataclasses.replace(self.measure(probe, random), seed=rng if isinstance(rng, int) else None)
        count = self.interval.count(bootstrap) if self.interval else 0
        if not self.interval or not count:
            return result
        draws = self.interval.draws(lambda part: self.measure(part, random).value, probe, random, count, self.fits)
        estimate = percentile_interval(result.value, draws, result.n)
        return dataclasses.replace(result, interval=estimate, replicates=len(draws))

    @abstractmethod
    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """The score itself, made with `self.result`."""

    def missing(self, probe: Probe) -> str | None:
        """Why this probe is not enough, in words; None if it is."""
        chosen = [need for (name, value), need in self.also_needs.items() if getattr(self, name) == value]
        lacking = [NEEDS[need] for need in dict.fromkeys((*self.needs, *chosen)) if getattr(probe, need) is None]
        if not lacking and "factors" in self.needs and len(probe.varying) < self.least_factors:
            lacking = [self.too_few()]
        if self.intervention and not lacking and (probe.sizes[probe.varying] > probe.n / 2).any():
            lacking = ["a factor grid, or at least several rows for every factor value"]
        return " and ".join(lacking) or None

    @classmethod
    def too_few(cls) -> str:
        """What it lacks where fewer factors vary."""
        return f"at least {cls.least_factors} factors that vary: with one, there is nothing to tell apart"

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
        matrix: Float | None = None,
        n: int | None = None,
        notes: Sequence[str] = (),
    ) -> Score:
        """A Score that carries this metric's variant and settings and the probe's own notes."""
        settings = {k: v for k, v in to_dict(self).items() if k != "kind"}
        # Without a matrix the names say, to who reads a stored score, that there were enough of them.
        named = self.least_factors > 1 if matrix is None else matrix.shape[1] == len(probe.names)
        columns = probe.names if named else ()
        return Score(
            self.variant, float(value), parts or {}, matrix, columns, settings, n or probe.n,
            notes=(*probe.notes, *notes),
        )  # fmt: skip
