"""Page: one self-contained HTML file about one run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import writable_folder, write_text
from hatchel.core.progress import duration
from hatchel.core.spec import to_dict
from hatchel.evaluation.evaluation import items_in_words
from hatchel.metrics._active_units import collapse
from hatchel.metrics.score import Score
from hatchel.report.columns import columns_moved, described
from hatchel.report.dimensions import OWN_R2, OWN_SHARE, RIVAL, own_dimensions
from hatchel.report.findings import HEADLINES, Control, Findings
from hatchel.report.panels.panel import DrawnPanel, draw_panels
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun


def write_report(found: Findings, path: Path, controls: Sequence[Control] = ()) -> Path:
    """Write the page about a run, controls beside it, in one rename; the path."""
    checked_file(path)
    write_text(path, page(found, controls))
    return path


def page(found: Findings, controls: Sequence[Control] = (), panels: Sequence[DrawnPanel] | None = None) -> str:
    """The page's text: needs nothing from any other file or host. `panels`: already drawn ones."""
    found = found.beside(controls) if controls else found
    return rendered(
        "report.html.j2",
        {
            "title": f"{found.run.spec.title} on {found.run.data.name}",
            "lead": learned(found),
            "rule": RULE if found.dimensions.shares is not None else "",
            "formula": found.run.spec.formula(),
            "facts": facts(found),
            "lines": summary(found),
            "skipped": by_reason(found.skipped),
            "factors": factor_lines(found),
            "controls": found.controls,
            "notes": notes(found),
            "collapse": collapse(found.encoded.mean, found.encoded.std),
            "variants": list(dict.fromkeys(score.name for score in found.scores.values())),
            "panels": draw_panels(found) if panels is None else panels,
            "config": json.dumps(to_dict(found.run.spec), indent=2),
        },
    )


def rendered(
    template: str, values: Mapping[str, Any], package: str = "hatchel.report", folder: str = "templates"
) -> str:
    """A package's template, over the base page of the report; what is missing is an error, and text is escaped."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader("hatchel.report")]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(values, version=__version__)


def checked_file(path: Path) -> Path:
    """A file that can be written, or why not, before any work is done."""
    if path.is_dir():
        raise HatchelError(f"{path}: is a folder; name the file to write, such as {path / 'report.html'}")
    writable_folder(path.parent)
    return path


@dataclass(frozen=True)
class NumberText:
    """A number with its interval, as text."""

    value: str
    interval: str = ""
    each: str = ""
    """Run by run, where there are several."""
    best: bool = False

    @classmethod
    def of(cls, score: Score | None, runs: Sequence[float] = (), best: bool = False) -> NumberText:
        """Three decimals, or a dash where there is nothing."""
        if score is None:
            return cls("–")
        ends, each = score.interval, ", ".join(f"{v:.3f}" for v in runs) if len(runs) > 1 else ""
        return cls(f"{score.value:.3f}", f"{ends.low:.3f} – {ends.high:.3f}" if ends else "", each, best)


@dataclass(frozen=True)
class FactorRow:
    """A factor: the dimension that knows most of it, the next one, and R² where it has an order."""

    name: str
    dimension: str
    share: str
    rival: str
    r2: NumberText


def summary(found: Findings) -> list[dict[str, Any]]:
    """A line for every headline score, with those of the controls and where its interval comes from."""
    lines: list[dict[str, Any]] = []
    for headline in HEADLINES:
        score = found.scores.get(headline.key)
        if score is not None:
            policy = headline.spec.interval
            drawn = f"{score.replicates} {policy.describe(score.n)}" if policy and score.replicates else ""
            beside = [NumberText.of(c.findings.scores.get(headline.key)) for c in found.controls]
            line = {"headline": headline, "cell": NumberText.of(score), "n": score.n, "interval": drawn}
            lines.append(line | {"beside": beside})
    return lines


RULE = (
    f"A factor is in one dimension if that carries {OWN_SHARE:.0%} of its entropy or has R² of {OWN_R2:g}, no other "
    f"active dimension carries {RIVAL:.0%} of what it does, and it knows no other factor better."
)


MENTIONED = 4
"""Dimensions, and columns of each, that the first sentence names at most."""


def learned(found: Findings) -> str:
    """What was learned, in a sentence, and one more for each factor that a dimension follows in its own way."""
    dimensions = found.dimensions
    if dimensions.shares is None or not len(dimensions.active):
        return _unlabelled(found)
    where = own_dimensions(dimensions, found.fits)
    own = [f"{factor} ({dimensions.name(d)})" for factor, d in where.items() if d is not None]
    rest = [factor for factor, d in where.items() if d is None]
    if len(where) == 1:
        said = f"The factor {(own or rest)[0]} is in {'one dimension of its own' if own else 'no one dimension'}"
    elif own:
        count = f"{len(own)} of {len(where)}" if rest else f"All {len(own)}"
        place = "factors are in one dimension each" if len(own) > 1 else "factors is in one dimension of its own"
        missing = f"; {_and(rest)} {'is' if len(rest) == 1 else 'are'} not" if rest else ""
        said = f"{count} {place}: {_and(own)}{missing}"
    else:
        said = f"None of the {len(where)} factors ({', '.join(rest)}) is in one dimension of its own"
    why = [fit.note for fit in found.fits if fit.factor in rest and fit.note and fit.dimension in dimensions.active]
    return " ".join([f"{said}.", *why, *([_unlabelled(found)] if found.run.columns else [])])


def by_reason(skipped: Mapping[str, str]) -> dict[str, str]:
    """{"MIG, SAP": "needs the factors of every row"}: what was not measured, each reason once."""
    reasons = dict.fromkeys(skipped.values())
    return {", ".join(name for name, why in skipped.items() if why == reason): reason for reason in reasons}


def _unlabelled(found: Findings) -> str:
    """What can be said without factors: of a table, which columns each dimension moves."""
    active, all_of = len(found.dimensions.active), len(found.dimensions.order)
    if not active:
        return f"Nothing was learned: none of the {all_of} dimensions says anything about the input."
    says = f"{active} of {all_of} dimensions say{'s' * (active == 1)} something about the input"
    does = {name: columns[:MENTIONED] for name, columns in columns_moved(found).items() if columns}
    if not does:
        return f"{says}; which factors {'it stands' if active == 1 else 'they stand'} for is not known."
    words = [f"{name} moves {_and(columns)}" for name, columns in list(does.items())[:MENTIONED]]
    return f"{says}: {'; '.join(words)}{'; …' if len(does) > MENTIONED else '.'}"


def _and(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


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


def factor_lines(found: Findings) -> list[FactorRow]:
    """A line for every factor that varies."""
    shares = found.dimensions.shares
    if shares is None:
        return []
    fits = {fit.factor: fit for fit in found.fits}
    lines: list[FactorRow] = []
    for k, name in enumerate(found.dimensions.factors):
        if np.isnan(shares[:, k]).all():
            continue
        first, *rest = np.argsort(-shares[:, k], kind="stable").tolist()
        rival = f"{shares[rest[0], k]:.2f} ({found.dimensions.name(rest[0])})" if rest else "–"
        fit = fits.get(name)
        r2 = NumberText.of(fit.score if fit else None)
        if fit and fit.dimension != first:
            r2 = NumberText(f"{r2.value} ({fit.name})", r2.interval)
        known = found.dimensions.name(first) + ("" if first in found.dimensions.active else ", inactive")
        lines.append(FactorRow(name, known, f"{shares[first, k]:.2f}", rival, r2))
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
    shape = shape.replace(" 1 channels", " 1 channel") or described(run.columns) or f"{run.shape[0]} values a row"
    parts = {
        "Data": f"{data.name}, {len(data):,} items, {shape}",
        "Latent": f"{spec.latent.kind}, {spec.latent.width} dimensions",
        "Network": " → ".join(p.kind for p in (spec.encoder, spec.decoder) if p)
        + f", {sum(p.numel() for p in run.model.parameters()):,} parameters",
        "Training": f"{run.steps:,} of {spec.steps:,} steps, batch {spec.batch_size}, learning rate "
        f"{spec.optimizer.lr:g}, seed {spec.seed}",
        "Time": duration(seconds) if (seconds := training_seconds(run)) else "",
        "Measured on": f"{found.probe.n:,} items drawn at random (seed {found.probe.seed}), posterior means, "
        f"{items_in_words(found.stored.settings)}",
    }
    return {name: text for name, text in parts.items() if text}
