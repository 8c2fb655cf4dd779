"""Summary: the scores, factors and facts of a run as lines of text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hatchel.metrics.score import Score
from hatchel.report.findings import HEADLINES, Findings, Headline
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun


@dataclass(frozen=True)
class Cell:
    """A number with its interval, as text."""

    value: str
    interval: str = ""

    @classmethod
    def of(cls, score: Score | None) -> Cell:
        """Three decimals, or a dash where there is nothing."""
        if score is None:
            return cls("–")
        ends = score.interval
        return cls(f"{score.value:.3f}", f"{ends.low:.3f} – {ends.high:.3f}" if ends else "")


@dataclass(frozen=True)
class Line:
    """A row of the summary."""

    headline: Headline
    cell: Cell
    n: int
    interval: str
    """Where its interval comes from."""
    beside: tuple[Cell, ...]


@dataclass(frozen=True)
class FactorLine:
    """A factor: the dimension that knows most of it, the next one, and R² where it has an order."""

    name: str
    dimension: str
    share: str
    rival: str
    r2: Cell


def summary(found: Findings) -> list[Line]:
    """A line for every headline score."""
    lines: list[Line] = []
    for headline in HEADLINES:
        score = found.scores.get(headline.key)
        if score is not None:
            beside = tuple(Cell.of(c.findings.scores.get(headline.key)) for c in found.controls)
            count = score.replicates
            how = f"subsamples of {headline.rows:,}" if headline.subsamples(found.probe.n) else "resamples"
            lines.append(Line(headline, Cell.of(score), score.n, f"{count} {how}" if count else "", beside))
    return lines


def notes(found: Findings) -> list[str]:
    """What the metrics remarked, with whose score it was."""
    labels = {h.key: h.label for h in HEADLINES}
    sources = {"": found, **{f"{c.name}, ": c.findings for c in found.controls}}
    return [
        f"{name}{labels[key]}: {note}"
        for name, source in sources.items()
        for key, score in source.scores.items()
        for note in score.notes
    ]


def factor_lines(found: Findings) -> list[FactorLine]:
    """A line for every factor that varies."""
    shares = found.dimensions.shares
    if shares is None:
        return []
    fits = {fit.factor: fit for fit in found.fits}
    lines: list[FactorLine] = []
    for k, name in enumerate(found.dimensions.factors):
        if np.isnan(shares[:, k]).all():
            continue
        first, *rest = np.argsort(-shares[:, k], kind="stable").tolist()
        rival = f"{shares[rest[0], k]:.2f} ({found.dimensions.name(rest[0])})" if rest else "–"
        fit = fits.get(name)
        r2 = Cell.of(fit.score if fit else None)
        if fit and fit.dimension != first:
            r2 = Cell(f"{r2.value} ({fit.name})", r2.interval)
        known = found.dimensions.name(first) + ("" if first in found.dimensions.active else ", inactive")
        lines.append(FactorLine(name, known, f"{shares[first, k]:.2f}", rival, r2))
    return lines


def training_seconds(run: TrainedRun) -> float:
    """Time in the loop so far, from the run's own events."""
    total, before = 0.0, 0
    for event in read_events(run.folder):
        total += (event["step"] - before) * (event.get("seconds_per_step") or 0.0)
        before = event["step"]
    return total


def facts(found: Findings) -> dict[str, str]:
    """What was trained, on what, how long, and what was measured."""
    run = found.run
    spec, data = run.spec, run.data
    shape = " x ".join(map(str, run.shape[1:])) + f" pixels, {run.shape[0]} channels" if len(run.shape) == 3 else ""
    shape = (shape or f"{run.shape[0]} values a row").replace(" 1 channels", " 1 channel")
    parts = {
        "Data": f"{data.name}, {len(data):,} items, {shape}",
        "Latent": f"{spec.latent.kind}, {spec.latent.width} dimensions",
        "Network": " → ".join(p.kind for p in (spec.encoder, spec.decoder) if p)
        + f", {sum(p.numel() for p in run.model.parameters()):,} parameters",
        "Training": f"{run.steps:,} of {spec.steps:,} steps, batch {spec.batch_size}, learning rate "
        f"{spec.optimizer.lr:g}, seed {spec.seed}",
        "Time": duration(training_seconds(run)),
        "Measured on": f"{found.probe.n:,} items drawn at random (seed {found.probe.seed}), posterior means",
    }
    return {name: text for name, text in parts.items() if text}


def duration(seconds: float) -> str:
    """In words; empty where nothing is known.

    >>> duration(221.4), duration(12.3), duration(0)
    ('3 min 41 s', '12.3 s', '')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds else ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
