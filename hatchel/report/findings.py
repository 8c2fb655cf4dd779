"""Findings: everything a page, a table or a picture says about one run, measured once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hatchel.errors import HatchelError
from hatchel.evaluation import ITEMS, Encodings, encodings
from hatchel.metrics._elbo_terms import ELBOTerms
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.report.dimensions import Dimensions
from hatchel.report.fits import Fit, fits
from hatchel.report.intervals import subsampled
from hatchel.run import Run
from hatchel.spec import decode


@dataclass(frozen=True)
class Headline:
    """A score worth a line in the summary."""

    key: str
    """Its name in scores.json."""
    label: str
    metric: str | Mapping[str, Any]
    """What `decode(Metric, ...)` reads."""
    meaning: str
    of: Literal["mean", "sample"] = "mean"
    """The representation it is measured on."""
    replicates: int = 200
    """Bootstrap replicates at most: fewer where one takes long."""
    rows: int | None = None
    """Of a metric that fits many classifiers: the size of the subsamples that its interval comes from."""

    @property
    def spec(self) -> Metric:
        """The metric itself."""
        return decode(Metric, self.metric)

    def score(self, probe: Probe, seed: int, bootstrap: int) -> Score:
        """The score with its interval."""
        replicates = min(bootstrap, self.replicates)
        if self.subsamples(probe.n) and not self.spec.missing(probe):
            return subsampled(self.spec, probe, seed, replicates, self.rows or probe.n)
        return self.spec.score(probe, seed, replicates)

    def subsamples(self, n: int) -> bool:
        """Whether the interval on n rows comes from subsamples."""
        return self.rows is not None and n >= 2 * self.rows

    @property
    def lower_is_better(self) -> bool:
        """As the metric says."""
        return type(self.spec).lower_is_better


HEADLINES = (
    Headline("mig", "MIG", "mig", "gap between the two dimensions that know most about each factor, as a share of it"),
    Headline(
        "sap",
        "SAP",
        "sap",
        "gap between the two dimensions that predict each factor best, in accuracy",
        replicates=20,
        rows=3000,
    ),
    Headline(
        "dci",
        "DCI disentanglement",
        "dci",
        "how far each dimension serves to predict one factor only",
        replicates=8,
        rows=1500,
    ),
    Headline(
        "factor_vae_score",
        "FactorVAE score",
        "factor_vae_score",
        "how often the steadiest dimension tells which factor was held fixed",
        replicates=50,
    ),
    Headline("tc_mean", "TC of the means", "gaussian_tc", "Gaussian dependence between the dimensions' means, in nats"),
    Headline("tc_sample", "TC of samples", "gaussian_tc", "the same of samples z ~ q(z|x), in nats", of="sample"),
)
"""In the order of the summary. The first four need factors and lie between 0 and 1."""


@dataclass(frozen=True)
class Findings:
    """What one look at a run found."""

    run: Run
    encoded: Encodings
    probe: Probe
    dimensions: Dimensions
    fits: tuple[Fit, ...]
    terms: Score
    """The KL taken apart: I(x;z), TC, dimension-wise KL."""
    scores: Mapping[str, Score]
    """By the headline's key."""
    skipped: Mapping[str, str]
    """By the headline's label, why it has no score."""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{metric: {value, low, high, n, replicates}}, with R² of every continuous factor as `r2_FACTOR`."""
        result = {key: _entry(score) for key, score in self.scores.items()}
        for fit in self.fits:
            result[fit.score.name] = _entry(fit.score) | {"dimension": fit.dimension}
        return result


@dataclass(frozen=True)
class Control:
    """A run that is shown beside another, and how it differs."""

    name: str
    note: str
    findings: Findings


def examine(run: Run, *, items: int = ITEMS, seed: int = 0, bootstrap: int = 200) -> Findings:
    """Encode once, then the headline scores with intervals, I(x;z_d), what each dimension follows, R² of factors."""
    encoded = encodings(run, items, seed)
    space, factors = run.data.space, run.data.factors(encoded.items)
    names, discrete = (space.names, False) if space is not None else (None, None)
    probe = Probe(encoded.mean, factors, names=names, continuous=discrete, std=encoded.std, seed=seed)
    by_representation = {"mean": probe, "sample": Probe(encoded.sample, seed=seed)}
    terms = ELBOTerms().score(probe, seed)
    per_dimension = terms.parts["mutual_information_per_dimension"]
    dimensions = Dimensions.of(probe, np.array(list(per_dimension.values())))
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    for line in HEADLINES:
        try:
            scores[line.key] = line.score(by_representation[line.of], seed, bootstrap)
        except HatchelError as error:
            skipped[line.label] = str(error)
    found = fits(probe, space, dimensions, seed, bootstrap)
    return Findings(run, encoded, probe, dimensions, found, terms, scores, skipped)


def _entry(score: Score) -> dict[str, Any]:
    interval = score.interval
    return {
        "value": score.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": score.n,
        "replicates": interval.replicates if interval else 0,
        "variant": score.name,
    }
