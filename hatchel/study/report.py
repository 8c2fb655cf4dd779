"""A study's report: one page, its tables as Markdown and LaTeX, its figures as PNG and SVG, its numbers as JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hatchel.core.files import writable_folder, write_bytes, write_json, write_text
from hatchel.report.page import rendered
from hatchel.report.style import WIDTH, png, standalone_svg, svg
from hatchel.study.claims import Verdict
from hatchel.study.frame import Frame, column, labels_of, tasks
from hatchel.study.grid import Scale
from hatchel.study.study import Study

DPI = 130


def write_report(
    study: Study, frame: Frame, scale: Scale, folder: Path, failed: Sequence[str] = (), machine: str = ""
) -> Path:
    """Write FOLDER/report.html and, beside it, tables.md, tables.tex, results.json and the figures; the page's path."""
    from markupsafe import Markup

    writable_folder(folder)
    figures = dict(study.figures(frame)) if len(frame) else {}
    drawn = {name: (Markup(svg(figure, slug(name))), figure.get_figwidth() > WIDTH) for name, figure in figures.items()}
    page = rendered(
        "study.html.j2",
        {
            "title": f"{study.name}: {study.paper}" if study.paper else study.name,
            "what": study.about,
            "facts": facts(study, frame, scale, machine),
            "claims": claims(study, frame, scale),
            "tables": study.tables(frame) if len(frame) else [],
            "figures": drawn,
            "failed": failed,
        },
        "hatchel.study",
    )
    write_text(folder / "report.html", page)
    for name, figure in figures.items():
        write_bytes(folder / f"{slug(name)}.png", png(figure, DPI))
        write_text(folder / f"{slug(name)}.svg", standalone_svg(figure, slug(name)))
    write_text(folder / "tables.md", markdown(study, frame, scale, machine))
    write_text(folder / "tables.tex", "\n\n".join(t.latex() for t in study.tables(frame)) + "\n" if len(frame) else "")
    write_json(folder / "results.json", results(study, frame, scale, machine), sealed=False)
    return folder / "report.html"


def markdown(study: Study, frame: Frame, scale: Scale, machine: str = "") -> str:
    """The tables and claims with everything needed to read them."""
    parts = [f"# {study.name} ({study.paper})" if study.paper else f"# {study.name}", study.about]
    parts.append("\n".join(f"- {name}: {text}" for name, text in facts(study, frame, scale, machine).items()))
    if len(frame):
        parts += [f"## {t.title}\n\n{t.markdown()}" for t in study.tables(frame)]
        found = claims(study, frame, scale)
        if found:
            parts.append("## Claims\n\n" + "\n".join(line(verdict) for verdict in found))
    return "\n\n".join(parts) + "\n"


def claims(study: Study, frame: Frame, scale: Scale) -> list[Verdict]:
    """The study's; at `smoke` none of them is decided, whatever the numbers of a few steps are."""
    found = study.verdicts(frame) if len(frame) else []
    return [replace(verdict, holds=None) for verdict in found] if scale == "smoke" else found


def line(verdict: Verdict) -> str:
    """A claim as a line of Markdown."""
    claim, ours = verdict.claim, ", ours" * verdict.claim.ours
    return f"- {claim.id} ({claim.where}{ours}) **{verdict.word}**: {claim.text} {verdict.evidence}"


def facts(study: Study, frame: Frame, scale: Scale, machine: str = "") -> dict[str, str]:
    """Beside every result: the scale in words, the tasks, the seeds, the time, the machine, the date, the command."""
    done = tasks(frame)
    seeds, spent = sorted({*done["seed"]}), float(done["seconds"].sum())
    found = {
        "Scale": f"{scale}: {study.words(scale)}",
        "Tasks": f"{done['task'].nunique()} done, seeds {', '.join(map(str, seeds)) or 'none'}",
        "Time": f"{f'{spent / 60:.1f} min' if spent >= 60 else f'{spent:.0f} s'} of computing (runs that were there "
        "already are not trained again, and not counted)",
        "Machine": machine,
        "Date": time.strftime("%Y-%m-%d", time.gmtime()),
        "Command": f"hatchel study run {study.target} --scale {scale}",
    }
    return {name: text for name, text in found.items() if text}


def results(study: Study, frame: Frame, scale: Scale, machine: str = "") -> dict[str, Any]:
    """Every number that the tables use, by task."""
    used = {c.name for t in (study.tables(frame) if len(frame) else []) for c in t.columns}
    return {
        "study": study.name,
        "paper": study.paper,
        "facts": facts(study, frame, scale, machine),
        "claims": [verdict.to_dict() for verdict in claims(study, frame, scale)],
        "cells": _by_task(frame[frame["metric"].isin(used)], frame),
    }


def _by_task(values: Frame, frame: Frame) -> list[dict[str, Any]]:
    found: dict[Any, dict[str, float]] = {}
    for key, name, value in zip(_keys(values), values["metric"], values["value"], strict=True):
        found.setdefault(key, {})[name] = value
    done, labels = tasks(frame), labels_of(frame)
    return [
        {"labels": dict(zip(labels, key[1:], strict=True)), "seed": int(seed), "cell": key[0]}
        | {"values": found.get(key, {})}
        for key, seed in zip(_keys(done), done["seed"], strict=True)
    ]


def _keys(frame: Frame) -> list[tuple[Any, ...]]:
    return list(zip(*(frame[c] for c in ("task", *map(column, labels_of(frame)))), strict=True))


def slug(name: str) -> str:
    """A file's name.

    >>> slug("MIG by layer (z)")
    'mig-by-layer-z'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
