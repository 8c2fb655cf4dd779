"""A run's scores: every metric on every representation, measured once and stored in RUN/evaluation.json.

What is stored is read by everything that shows it; only scores that are missing are measured. The file is remade when
the model's weights, the data, the number of items, the seed or the version of Hatchel are others than those it was
measured with. Metrics and networks of one's own are always measured anew, since their code may have changed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, read_json, write_json
from hatchel.core.progress import progress
from hatchel.core.spec import Count, NonNegative, from_dict
from hatchel.data.dataset import Dataset
from hatchel.evaluation.codes import (
    ITEMS,
    Codes,
    Encodings,
    encodings,
    has_held_out,
    has_own_code,
    not_stored,
    reconstruction_errors,
    weights_digest,
)
from hatchel.metrics._active_units import collapse
from hatchel.metrics._aggregate import ELBOTerms
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score, Scores
from hatchel.training.callbacks import Stop
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

__all__ = ["ITEMS", "Codes", "Encodings", "Evaluation", "StoredScores", "announce_collapse", "encodings", "evaluate"]

FILE = "evaluation.json"
VERSION = 1
"""Of the file. Those of Hatchel 0.1 have none."""
DENSITIES = 400_000_000
"""Log-densities of one coordinate that are evaluated at most for I(x; z_d), some seconds' worth."""


class Evaluation(dict[str, Scores]):
    """Scores by representation: `mean` first, then `sample`, the levels and the layers that were asked for."""

    def __init__(self, scores: Mapping[str, Scores], settings: Mapping[str, Any], collapse: str | None = None) -> None:
        super().__init__(scores)
        self.settings = dict(settings)
        self.collapse = collapse
        """That the code says nothing, where that is so."""

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The evaluation stored in a run's folder; also one that Hatchel 0.1 wrote."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise HatchelError(f"{folder}: has no {FILE}; measure the run with `hatchel evaluate {folder}`")
        found = read_json(path)
        try:
            if found.get("version", 0) > VERSION:
                raise HatchelError(f"{path}: was written by a newer Hatchel; run `hatchel evaluate` again")
            representations = {k: v for k, v in found.items() if k not in ("version", "settings")}
            scores = {k: _meaningful(Scores.from_dict(v)) for k, v in representations.items()}
            return cls(scores, found["settings"], _collapse(scores.get("mean")))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise HatchelError(f"{path}: was not written by `hatchel evaluate`; run it again") from None

    def __missing__(self, name: str) -> Score:
        """`e["mig"]`: a score of the posterior means, by its name."""
        means = self.get("mean") or Scores({}, {})
        if name in means:
            return means[name]
        reason = means.skipped.get(name) or f"there are the representations {', '.join(self)} and the scores "
        raise KeyError(f"{name}: {reason}{'' if name in means.skipped else ', '.join(means)}")

    def to_pandas(self) -> Any:
        """One row per representation and score: value, interval, sample size, seed."""
        import pandas  # slow to import

        return pandas.concat({name: s.to_pandas() for name, s in self.items()}, names=["representation"])

    def __repr__(self) -> str:
        """As `hatchel evaluate` prints it; the fields of every score would fill pages."""
        return self.table()

    def _repr_html_(self) -> str:
        return self.to_pandas().to_html(float_format="{:.3f}".format, na_rep="")

    def is_stored(self, folder: Path) -> bool:
        """Whether all of its scores are in a run's folder."""
        try:
            kept = Evaluation.load(folder)
        except HatchelError:
            return not any(self.values())
        return kept.settings == self.settings and all(set(s) <= set(kept.get(n, ())) for n, s in self.items())

    @property
    def items_in_words(self) -> str:
        return items_in_words(self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        scores = {name: scores.to_dict() for name, scores in self.items()}
        return {"version": VERSION, "settings": self.settings, **scores}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def table(self) -> str:
        """Plain text, a block for each representation."""
        head = ", ".join(f"{k}={v}" for k, v in self.settings.items() if k in ("steps", "items", "seed"))
        head = f"{head}, {self.items_in_words}"
        head = f"{head}\n{self.collapse}" if self.collapse else head
        return "\n\n".join([head, *(f"[{name}]\n{_block(scores)}" for name, scores in self.items())])


def _block(scores: Scores) -> str:
    """The scores' own table, with each reason why some are missing once: without factors that is most of them."""
    ends = tuple(f"  not measured: {reason}" for reason in scores.reasons)
    lines = [line for line in scores.table().splitlines() if not (ends and line.endswith(ends))]
    return "\n".join([*lines, *(f"not measured: {', '.join(of)}: {why}" for why, of in scores.reasons.items())])


def items_in_words(settings: Mapping[str, Any]) -> str:
    """Which items an evaluation with these settings is of."""
    return "on held-out items" if settings.get("held_out") else "on the items it was trained on"


def evaluate(
    run: TrainedRun,
    which: str | Sequence[str | Metric] = "all",
    *,
    items: int = ITEMS,
    bootstrap: int | None = None,
    seed: int = 0,
    layers: bool = False,
    store: bool = True,
) -> Evaluation:
    """Every metric on means, samples, levels and (if asked) the encoder's layers, read from RUN/evaluation.json.

    What is not there yet is measured and, with `store`, added to it. `bootstrap`: replicates at most for 95 %
    intervals, 0 for none; by default the intervals that are stored, or as many replicates as each metric's own policy
    says. What a representation lacks for a metric (factors, deviations, reconstructions) is listed with the reason.
    """
    given = list(Metric.members()) if which == "all" else which.split(",") if isinstance(which, str) else which
    chosen = [from_dict(Metric, w.strip() if isinstance(w, str) else w, "which") for w in given]
    kept = StoredScores(run, items=items, seed=seed, layers=layers, store=store)
    scores = {name: kept.measure(name, chosen, bootstrap, strict=which != "all") for name in kept.representations}
    return Evaluation(scores, kept.settings, collapse(kept.encoded.mean, kept.encoded.std))


def announce_collapse(run: TrainedRun) -> None:
    """Say on stderr that a trained run's code says nothing, where that is so."""
    found = encodings(run, 1000, store=False)
    if note := collapse(found.mean, found.std):
        print(f"hatchel: {run.folder}: {note}", file=sys.stderr)


class StoredScores:
    """The codes and scores of a run as they are stored; what is asked for and not there yet is measured and added."""

    def __init__(
        self, run: TrainedRun, *, items: int = ITEMS, seed: int = 0, layers: bool = False, store: bool = True
    ) -> None:
        self.run, self.seed, self.store = run, seed, store
        self.encoded = encodings(run, items, seed, layers, store)
        self.settings: dict[str, Any] = {
            "steps": run.steps, "items": len(self.encoded.items), "held_out": has_held_out(run), "seed": seed,
            "data": run.data.fingerprint, "weights": weights_digest(run), "hatchel": __version__,
        }  # fmt: skip
        self._scores = self._stored()
        self._probes: dict[tuple[str, bool, bool], Probe] = {}

    @property
    def representations(self) -> list[str]:
        """Posterior means and samples, further levels, and the encoder's layers.

        A latent with discrete variables also has `coordinates`: its real coordinates alone, whose deviations are known.
        """
        first, *more = self.encoded.levels
        alone = ["coordinates"] if first.real is not None else []
        levels = [f"level {i}" for i, _ in enumerate(more, 1)]
        return ["mean", "sample", *alone, *levels, *(f"layer {name}" for name in self.encoded.layers)]

    def probe(self, name: str, factors: bool = True, errors: bool = False) -> Probe:
        """A representation as the metrics read it; `errors`: with those of its reconstructions."""
        key = name, factors, errors
        if key not in self._probes:
            self._probes[key] = representation(self.run, self.encoded, name, self.seed, factors, errors)
        return self._probes[key]

    def measure(
        self, name: str, metrics: Sequence[Metric], bootstrap: int | None = None, strict: bool = False
    ) -> Scores:
        """Some metrics of one representation; `strict`: a metric that fails is an error, not one that is left out."""
        known = self._scores.get(name) or Scores({}, {})
        scores = {m.variant: known[m.variant] for m in metrics if _enough(known.get(m.variant), m, bootstrap)}
        reasons = [m.variant for m in metrics if m.variant in known.skipped]
        skipped = {v: known.skipped[v] for v in reasons if not strict or known.skipped[v].startswith("needs ")}
        missing = [m for m in metrics if m.variant not in scores and m.variant not in skipped]
        with progress("measuring", len(missing)) as advance:
            for metric in missing:
                advance(0, f"{name}: {metric.kind}")
                reads = {*metric.needs, *metric.also_needs.values()}
                try:
                    probe = self.probe(name, "factors" in reads, "errors" in reads)
                    reason = metric.missing(probe)
                    if reason:
                        skipped[metric.variant] = f"needs {reason}"
                    else:
                        scores[metric.variant] = metric.score(probe, self.seed, bootstrap)
                except HatchelError as error:
                    if strict:
                        raise
                    skipped[metric.variant] = str(error)
                advance(1)
        if missing:
            self._add(name, Scores(scores, skipped))
        order = [m.variant for m in metrics]
        return Scores({v: scores[v] for v in order if v in scores}, {v: skipped[v] for v in order if v in skipped})

    def information(self, level: int = 0) -> Score | None:
        """I(x;z), TC and I(x;z_d) of the real coordinates of a level; None where it has none."""
        codes = self.encoded.levels[level].coordinates
        if codes is None:
            return None
        name = f"level {level}" if level else "mean" if codes is self.encoded.levels[0] else "coordinates"
        metric = information_metric(*codes.mean.shape)
        return self.measure(name, [metric], bootstrap=0)[metric.variant]

    def _stored(self) -> dict[str, Scores]:
        if not (self.run.folder / FILE).is_file() or has_own_code(self.run):
            return {}
        try:
            found = Evaluation.load(self.run.folder)
        except Damaged as error:
            print(f"hatchel: {error}; the scores are measured again", file=sys.stderr)
            return {}
        except HatchelError:  # from a newer version: remade
            return {}
        return dict(found) if found.settings == self.settings else {}

    def _add(self, name: str, new: Scores) -> None:
        # Read again just before, since another process may have added scores of its own meanwhile.
        for other, scores in (self._stored() if self.store else {}).items():
            self._scores[other] = _merged(self._scores.get(other), scores)
        self._scores[name] = _merged(self._scores.get(name), new)
        if not self.store:
            return
        order = sorted(self._scores, key=lambda n: (*self.representations, n).index(n))
        path = self.run.folder / FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, Evaluation({n: self._scores[n] for n in order}, self.settings).to_dict())
        except OSError as error:
            not_stored(self.run.folder, error.strerror or str(error))


def information_metric(n: int, dims: int) -> ELBOTerms:
    """I(x; z_d) of n posteriors; of a thousand dimensions with fewer draws, or it would take minutes."""
    usual = ELBOTerms()
    pairs = DENSITIES // dims
    if usual.draws * min(usual.posteriors, n) <= pairs:
        return usual
    draws = min(usual.draws, math.isqrt(pairs))
    return ELBOTerms(draws, pairs // draws)


def representation(
    run: TrainedRun, found: Encodings, name: str, seed: int = 0, factors: bool = True, errors: bool = False
) -> Probe:
    """One of a run's representations with its factors, and whatever else is known of it, as the metrics read it.

    Also `level 1 sample`: binned means do not see the scale in which DeVAE's levels differ, samples do.
    """

    def probe(codes: NDArray[Any], **more: Any) -> Probe:
        return factor_probe(run, found, codes, seed, **more) if factors else Probe(codes, seed=seed, **more)

    kind, _, which = name.partition(" ")
    if kind == "layer":
        return probe(found.layers[which])
    level = int(which.split()[0]) if kind == "level" else 0
    codes = found.levels[level]
    if name == "sample" or (kind == "level" and which.endswith(" sample")):
        return probe(codes.sample)
    if kind == "coordinates":
        assert codes.real is not None
        if which == "sample":
            return probe(codes.real.sample)
        return probe(codes.real.mean, std=codes.real.std, samples=codes.real.sample)
    return probe(
        codes.mean,
        samples=codes.sample,
        std=codes.std,
        noise=codes.noise,
        features=None if level else dict(found.layers) or None,
        clusters=codes.clusters,
        errors=reconstruction_errors(run, found, level) if errors else None,
    )


def factor_probe(run: TrainedRun, found: Encodings, codes: NDArray[Any], seed: int = 0, **more: Any) -> Probe:
    """Codes of the encoded items with their factors, where these are known."""
    factors, space = run.data.factors(found.items), run.data.space
    if factors is None or space is None:
        return Probe(codes, seed=seed, **more)
    # Class numbers for every factor, and beside them what those of an ordered factor stand for.
    values = np.stack([f.numbers[column] for f, column in zip(space.factors, factors.T, strict=True)], axis=1)
    return Probe(codes, factors, names=space.names, continuous=False, ordered=values, seed=seed, **more)


def _meaningful(scores: Scores) -> Scores:
    """Without what earlier versions measured of a single factor, where any code is perfect.

    How many factors there were is known from any score that names them. Where none does, such a score is left out
    without a reason, so that it is measured again.
    """
    factors = min((n for s in scores.values() if (n := _factors(s))), default=0)
    kinds = Metric.members()
    wanted = {v: kinds[kind] for v in scores if (kind := v.partition("(")[0]) in kinds}
    few = {v: f"needs {m.too_few()}" for v, m in wanted.items() if m.least_factors > max(factors, 1)}
    kept = {v: s for v, s in scores.items() if v not in few}
    return Scores(kept, {**scores.skipped, **(few if factors else {})})


def _factors(score: Score) -> int:
    """How many varied, 0 where that is not known: the matrix has NaN where one did not."""
    return len(score.factors) if score.matrix is None else int((~np.isnan(score.matrix)).any(axis=0).sum())


def _collapse(scores: Scores | None) -> str | None:
    notes = scores["active_units"].notes if scores and "active_units" in scores else ()
    return next((note for note in notes if "dimensions active" in note), None)


class MetricStop(Stop, kind="metric"):
    """Ends where a metric of the posterior means, measured every so many steps, gets no better."""

    of: str = "mig"
    """A metric; `hatchel list metrics`."""
    gain: NonNegative = 0.005
    """By how much it has to get better."""
    items: Count = 2_000
    """Items that are encoded for it."""

    @property
    def metric(self) -> Metric:
        return from_dict(Metric, self.of, "stop.of")

    def problem(self, spec: RunSpec, data: Dataset) -> str:
        lacks = "factors" in self.metric.needs and data.space is None
        return f"stop.of: {self.of} needs factors, which {data.name} has none of; use stop=plateau" if lacks else ""

    def value(self, mean: float, run: TrainedRun) -> float:
        metric = self.metric
        found = encodings(run, self.items, store=False)
        probe = representation(run, found, "mean", factors="factors" in metric.needs, errors="errors" in metric.needs)
        score = metric.score(probe).value
        return score if metric.lower_is_better else -score

    def limit(self, best: float) -> float:
        return best - self.gain


def _enough(score: Score | None, metric: Metric, bootstrap: int | None) -> bool:
    """Whether a stored score has the interval that is asked for. One's own metrics may have changed since."""
    if score is None or not type(metric).__module__.startswith("hatchel."):
        return False
    wanted = metric.interval.count(bootstrap) if metric.interval else 0
    return not wanted or score.replicates == wanted or (bootstrap is None and score.replicates > 0)


def _merged(old: Scores | None, new: Scores) -> Scores:
    if old is None:
        return new
    scores = {**old, **new}
    return Scores(scores, {k: v for k, v in {**old.skipped, **new.skipped}.items() if k not in scores})
