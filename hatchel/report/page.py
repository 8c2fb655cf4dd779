"""Page: one self-contained HTML file about one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import hatchel
from hatchel.errors import HatchelError
from hatchel.files import writable_folder, write_text
from hatchel.metrics.score import Score
from hatchel.report import figures
from hatchel.report.dimensions import ACTIVE, FOLLOWS, RANGE
from hatchel.report.findings import HEADLINES, Control, Findings, Headline
from hatchel.report.pictures import mosaic, reconstructions, traversals
from hatchel.report.poster import bounded
from hatchel.report.style import pixels_uri, svg
from hatchel.run import Run
from hatchel.spec import encode
from hatchel.training.events import read_events


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


@dataclass(frozen=True)
class Strip:
    """A row of images with what it shows."""

    label: str
    factor: str | None
    detail: str
    uri: str


def write_report(found: Findings, path: Path, controls: Sequence[Control] = ()) -> Path:
    """Write the page about a run, controls beside it, in one rename; the path."""
    if path.is_dir():
        raise HatchelError(f"{path}: is a folder; name the file to write, such as {path / 'report.html'}")
    writable_folder(path.parent)
    write_text(path, page(found, controls))
    return path


def page(found: Findings, controls: Sequence[Control] = ()) -> str:
    """The page's text: needs nothing from any other file or host."""
    run = found.run
    environment = Environment(
        loader=PackageLoader("hatchel.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    pictured = len(run.shape) == 3
    return environment.get_template("report.html.j2").render(
        title=f"{run.spec.name} on {run.data.name}",
        formula=run.spec.formula(),
        facts=facts(found),
        lines=summary(found, controls),
        skipped=found.skipped,
        factors=factor_lines(found),
        controls=controls,
        notes=notes(found, controls),
        variants=list(dict.fromkeys(score.name for score in found.scores.values())),
        figures={name: Markup(svg(figure, name)) for name, figure in drawings(found, controls).items()},
        terms=found.terms,
        reconstructed=pixels_uri(mosaic(reconstructions(found))) if pictured else None,
        strips=strips(found) if pictured else [],
        quantiles=[f"{100 * q:g} %" for q in RANGE],
        follows=f"{100 * FOLLOWS:g} %",
        active=ACTIVE,
        hidden=max(0, len(found.dimensions.order) - figures.LINES),
        config=json.dumps(encode(run.spec), indent=2),
        version=hatchel.__version__,
    )


def drawings(found: Findings, controls: Sequence[Control]) -> dict[str, Any]:
    """The figures there is something to draw for, by name."""
    result = {"information": figures.information(found.dimensions)}
    events = read_events(found.run.folder) if found.run.steps else []
    if events:
        symbols = {name: entry.term.symbol() for name, entry in found.run.spec.objective.items()}
        result["losses"] = figures.losses(events, symbols)
    if found.dimensions.shares is not None:
        result["shares"] = figures.information_shares(found.dimensions)
    if found.fits:
        result["fits"] = figures.factor_fits(found.fits)
    keys = bounded(found)
    if keys:
        labels = [h.label for h in HEADLINES if h.key in keys]
        sources = {found.run.spec.name: found, **{c.name: c.findings for c in controls}}
        result["scores"] = figures.score_chart(
            labels, {name: [f.scores.get(k) for k in keys] for name, f in sources.items()}
        )
    return result


def summary(found: Findings, controls: Sequence[Control]) -> list[Line]:
    """A line for every headline score."""
    lines: list[Line] = []
    for headline in HEADLINES:
        score = found.scores.get(headline.key)
        if score is not None:
            beside = tuple(Cell.of(c.findings.scores.get(headline.key)) for c in controls)
            count = score.interval.replicates if score.interval else 0
            how = f"subsamples of {headline.rows:,}" if headline.subsamples(found.probe.n) else "resamples"
            lines.append(Line(headline, Cell.of(score), score.n, f"{count} {how}" if count else "", beside))
    return lines


def notes(found: Findings, controls: Sequence[Control]) -> list[str]:
    """What the metrics remarked, with whose score it was."""
    labels = {h.key: h.label for h in HEADLINES}
    sources = {"": found, **{f"{c.name}, ": c.findings for c in controls}}
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
        rival = f"{shares[rest[0], k]:.2f} (z{rest[0]})" if rest else "–"
        fit = fits.get(name)
        r2 = Cell.of(fit.score if fit else None)
        if fit and fit.dimension != first:
            r2 = Cell(f"{r2.value} (z{fit.dimension})", r2.interval)
        known = f"z{first}" if first in found.dimensions.active else f"z{first}, inactive"
        lines.append(FactorLine(name, known, f"{shares[first, k]:.2f}", rival, r2))
    return lines


def strips(found: Findings) -> list[Strip]:
    """The traversals, a row a dimension."""
    dimensions = found.dimensions
    images = traversals(found.run, found)
    return [
        Strip(
            label=f"z{d}",
            factor=dimensions.follows(d),
            detail=f"I = {dimensions.information[d]:.2f}, from {dimensions.low[d]:.2f} to {dimensions.high[d]:.2f}",
            uri=pixels_uri(mosaic(images[row : row + 1])),
        )
        for row, d in enumerate(dimensions.order[: len(images)].tolist())
    ]


def training_seconds(run: Run) -> float:
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
