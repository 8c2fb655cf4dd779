"""Findings: everything a page, a table or a picture shows about one run, from its stored evaluation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hatchel.core.spec import from_dict
from hatchel.evaluation.codes import ITEMS, Encodings
from hatchel.evaluation.evaluation import StoredScores, factor_probe
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.nets.recursive import Recursive
from hatchel.report.dimensions import Dimensions, Fit, fits, site_information
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
    of: Literal["mean", "coordinates", "coordinates sample"] = "mean"
    """What it is measured on: posterior means; of the real coordinates alone, their means or samples."""

    @property
    def spec(self) -> Metric:
        return from_dict(Metric, self.metric)

    @property
    def lower_is_better(self) -> bool:
        return type(self.spec).lower_is_better


HEADLINES = (
    Headline("mig", "MIG", "mig", "gap between the two dimensions that know most about each factor, as a share of it"),
    Headline("sap", "SAP", "sap", "gap between the two dimensions that predict each factor best, in accuracy"),
    Headline("dci", "DCI disentanglement", "dci", "how far each dimension serves to predict one factor only"),
    Headline(
        "factor_vae_score",
        "FactorVAE score",
        "factor_vae_score",
        "how often the steadiest dimension tells which factor was held fixed",
    ),
    Headline(
        "tc_mean",
        "TC of the means",
        "gaussian_tc",
        "Gaussian dependence between the dimensions' means, in nats",
        of="coordinates",
    ),
    Headline(
        "tc_sample", "TC of samples", "gaussian_tc", "the same of samples z ~ q(z|x), in nats", of="coordinates sample"
    ),
)
"""In the order of the summary. The first four need factors and lie between 0 and 1."""


R2_REPLICATES = 200
"""Resamples for the interval of a factor's R²."""


@dataclass(frozen=True)
class Control:
    """A run that is shown beside another, and how it differs."""

    name: str
    note: str
    findings: Findings


@dataclass(frozen=True)
class Findings:
    """A run's codes, scores, and what its dimensions stand for."""

    run: TrainedRun
    stored: StoredScores
    """The run's codes and scores."""
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
    bootstrap: int | None = None
    """What was asked for: replicates at most, or the metrics' own."""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{metric: {value, low, high, n, replicates}}, with R² of every continuous factor as `r2_FACTOR`."""
        result = {key: _entry(score) for key, score in self.scores.items()}
        for fit in self.fits:
            result[fit.score.name] = _entry(fit.score) | {"dimension": fit.dimension}
        return result

    def beside(self, controls: Sequence[Control]) -> Findings:
        """The same, shown beside others."""
        return dataclasses.replace(self, controls=tuple(controls))

    @property
    def encoded(self) -> Encodings:
        return self.stored.encoded

    @property
    def pictured(self) -> bool:
        """Whether the items are images."""
        return len(self.run.shape) == 3

    @property
    def bounded(self) -> list[str]:
        """Keys of the headline scores this run has that lie between 0 and 1."""
        return [h.key for h in HEADLINES if h.key in self.scores and not h.lower_is_better]


def glance(run: TrainedRun, *, items: int = ITEMS, seed: int = 0) -> Findings:
    """What each dimension carries and follows, without any score: enough for pictures."""
    stored = StoredScores(run, items=items, seed=seed, layers=isinstance(run.spec.encoder, Recursive))
    probe = factor_probe(run, stored.encoded, stored.encoded.mean, seed, std=stored.encoded.std)
    return Findings(run, stored, probe, level_dimensions(stored, probe), (), stored.information(), {}, {})


def analyse(run: TrainedRun, *, items: int = ITEMS, seed: int = 0, bootstrap: int | None = None) -> Findings:
    """The headline scores with intervals, I(x;z_d), what each dimension follows, R² of factors: stored, or measured."""
    found = glance(run, items=items, seed=seed)
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    for line in HEADLINES:
        score = _headline(found.stored, line, bootstrap)
        if isinstance(score, Score):
            scores[line.key] = score
        else:
            skipped[line.label] = score
    replicates = R2_REPLICATES if bootstrap is None else bootstrap
    fitted = fits(found.probe, run.data.space, found.dimensions, seed, replicates)
    return dataclasses.replace(found, fits=fitted, scores=scores, skipped=skipped, bootstrap=bootstrap)


def level_dimensions(stored: StoredScores, probe: Probe, level: int = 0) -> Dimensions:
    """What each site carries, follows and ranges over at one level; `probe` holds the posterior means there."""
    variables = stored.run.spec.latent.layout.sites
    terms = stored.information(level)
    per_coordinate = terms.parts["mutual_information_per_dimension"].values() if terms else ()
    information = site_information(variables, stored.encoded.levels[level].mean, list(per_coordinate))
    return Dimensions.of(probe, information, variables)


def _headline(stored: StoredScores, line: Headline, bootstrap: int | None) -> Score | str:
    """The score, or why there is none."""
    name: str = line.of
    if name != "mean":
        first = stored.encoded.levels[0]
        if first.coordinates is None:
            return "the code has no real coordinates"
        if first.real is None:  # every coordinate is real
            name = {"coordinates": "mean", "coordinates sample": "sample"}[name]
    metric = line.spec
    found = stored.measure(name, [metric], bootstrap)
    return found[metric.variant] if metric.variant in found else found.skipped[metric.variant]


def _entry(score: Score) -> dict[str, Any]:
    interval = score.interval
    return {
        "value": score.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": score.n,
        "replicates": score.replicates,
        "variant": score.name,
    }
