"""Findings: everything a page, a table or a picture says about one run, measured once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.evaluation.evaluation import ITEMS, Codes, Encodings, encodings
from hatchel.metrics._elbo_terms import ELBOTerms
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.nets.recursive import Recursive
from hatchel.report.dimensions import Dimensions
from hatchel.report.fits import Fit, fits
from hatchel.report.intervals import subsampled
from hatchel.report.sites import site_information, sites
from hatchel.training.run import TrainedRun


@dataclass(frozen=True)
class Headline:
    """A score worth a line in the summary."""

    key: str
    """Its name in scores.json."""
    label: str
    metric: str | Mapping[str, Any]
    """What `decode(Metric, ...)` reads."""
    meaning: str
    of: Literal["mean", "coordinates", "sample"] = "mean"
    """What it is measured on: posterior means; of the real coordinates alone, their means or samples."""
    factors: int = 0
    """The fewest factors with which it says anything: with one, no dimension can serve another."""
    replicates: int = 200
    """Bootstrap replicates at most: fewer where one takes long."""
    rows: int | None = None
    """Of a metric that fits many classifiers: the size of the subsamples that its interval comes from."""

    @property
    def spec(self) -> Metric:
        """The metric itself."""
        return from_dict(Metric, self.metric)

    def score(self, probe: Probe, seed: int, bootstrap: int) -> Score:
        """The score with its interval."""
        if self.factors and probe.values is not None and len(probe.varying) < self.factors:
            raise HatchelError("of one factor it says nothing: it compares factors")
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
        factors=2,
    ),
    Headline(
        "factor_vae_score",
        "FactorVAE score",
        "factor_vae_score",
        "how often the steadiest dimension tells which factor was held fixed",
        replicates=50,
        factors=2,
    ),
    Headline(
        "tc_mean",
        "TC of the means",
        "gaussian_tc",
        "Gaussian dependence between the dimensions' means, in nats",
        of="coordinates",
    ),
    Headline("tc_sample", "TC of samples", "gaussian_tc", "the same of samples z ~ q(z|x), in nats", of="sample"),
)
"""In the order of the summary. The first four need factors and lie between 0 and 1."""


@dataclass(frozen=True)
class Control:
    """A run that is shown beside another, and how it differs."""

    name: str
    note: str
    findings: Findings


@dataclass(frozen=True)
class Findings:
    """What one look at a run found."""

    run: TrainedRun
    encoded: Encodings
    probe: Probe
    dimensions: Dimensions
    fits: tuple[Fit, ...]
    terms: Score | None
    """The KL of the real coordinates taken apart: I(x;z), TC, dimension-wise KL."""
    scores: Mapping[str, Score]
    """By the headline's key."""
    skipped: Mapping[str, str]
    """By the headline's label, why it has no score."""
    controls: tuple[Control, ...] = ()
    """What it is shown beside."""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{metric: {value, low, high, n, replicates}}, with R² of every continuous factor as `r2_FACTOR`."""
        result = {key: _entry(score) for key, score in self.scores.items()}
        for fit in self.fits:
            result[fit.score.name] = _entry(fit.score) | {"dimension": fit.dimension}
        return result

    def beside(self, controls: Sequence[Control]) -> Findings:
        """The same, shown beside others."""
        return dataclasses.replace(self, controls=tuple(controls))

    def probe_of(self, codes: NDArray[Any], std: NDArray[Any] | None = None) -> Probe:
        """The same items in another space: of a level, a layer or a checkpoint."""
        return _probe(self.run, self.encoded, codes, std, self.probe.seed)

    @property
    def pictured(self) -> bool:
        """Whether the items are images."""
        return len(self.run.shape) == 3


def examine(run: TrainedRun, *, items: int = ITEMS, seed: int = 0, bootstrap: int = 200) -> Findings:
    """Encode once, then the headline scores with intervals, I(x;z_d), what each dimension follows, R² of factors."""
    encoded = encodings(run, items, seed, layers=isinstance(run.spec.encoder, Recursive))
    probe = _probe(run, encoded, encoded.mean, encoded.std, seed)
    real = encoded.levels[0] if encoded.std is not None else encoded.levels[0].real
    by_representation = {"mean": probe}
    if real is not None:
        by_representation |= {"coordinates": Probe(real.mean, seed=seed), "sample": Probe(real.sample, seed=seed)}
    variables = sites(run)
    terms = information_terms(run, encoded.levels[0], seed)
    per_coordinate = terms.parts["mutual_information_per_dimension"].values() if terms else ()
    information = site_information(variables, encoded.mean, list(per_coordinate))
    dimensions = Dimensions.of(probe, information, variables)
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    for line in HEADLINES:
        if line.of not in by_representation:
            skipped[line.label] = "the code has no real coordinates"
            continue
        try:
            scores[line.key] = line.score(by_representation[line.of], seed, bootstrap)
        except HatchelError as error:
            skipped[line.label] = str(error)
    found = fits(probe, run.data.space, dimensions, seed, bootstrap)
    return Findings(run, encoded, probe, dimensions, found, terms, scores, skipped)


def information_terms(run: TrainedRun, codes: Codes, seed: int) -> Score | None:
    """I(x;z), TC and I(x;z_d) of the real coordinates in one latent space; None where there are none."""
    part = codes if codes.std is not None else codes.real
    if part is None or part.std is None:
        return None
    return ELBOTerms().score(Probe(part.mean, std=part.std, noise=part.noise, seed=seed), seed)


def _probe(run: TrainedRun, encoded: Encodings, codes: NDArray[Any], std: NDArray[Any] | None, seed: int) -> Probe:
    space, factors = run.data.space, run.data.factors(encoded.items)
    names, discrete = (space.names, False) if space is not None else (None, None)
    return Probe(codes, factors, names=names, continuous=discrete, std=std, seed=seed)


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
