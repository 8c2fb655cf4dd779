"""A study's report: one page, its tables as Markdown and LaTeX, its figures as PNG and SVG, its numbers as JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchel.core.files import writable_folder, write_json, write_text
from hatchel.report.page import rendered
from hatchel.report.style import WIDTH, png, standalone_svg, svg
from hatchel.studies.grid_file import name_of, target_of
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale, Study

DPI = 130


def write_report(
    study: Study, rows: Sequence[Row], scale: Scale, folder: Path, failed: Sequence[str] = (), machine: str = ""
) -> Path:
    """Write FOLDER/report.html and, beside it, tables.md, tables.tex, results.json and the figures; the page's path."""
    from markupsafe import Markup

    writable_folder(folder)
    figures = dict(study.figures(rows)) if rows else {}
    drawn = {name: (Markup(svg(figure, slug(name))), figure.get_figwidth() > WIDTH) for name, figure in figures.items()}
    page = rendered(
        "study.html.j2",
        {
            "title": f"{name_of(study)}: paper {study.paper}" if study.paper else name_of(study),
            "what": summary(study),
            "facts": facts(study, rows, scale, machine),
            "claims": claims(study, rows, scale),
            "tables": study.tables(rows) if rows else [],
            "figures": drawn,
            "failed": failed,
        },
    )
    write_text(folder / "report.html", page)
    for name, figure in figures.items():
        (folder / f"{slug(name)}.png").write_bytes(png(figure, DPI))
        write_text(folder / f"{slug(name)}.svg", standalone_svg(figure, slug(name)))
    write_text(folder / "tables.md", markdown(study, rows, scale, machine))
    write_text(folder / "tables.tex", "\n\n".join(t.latex() for t in study.tables(rows)) + "\n" if rows else "")
    write_json(folder / "results.json", results(study, rows, scale, machine))
    return folder / "report.html"


def markdown(study: Study, rows: Sequence[Row], scale: Scale, machine: str = "") -> str:
    """The tables and claims with everything needed to read them."""
    parts = [f"# {name_of(study)} (paper {study.paper})" if study.paper else f"# {name_of(study)}", summary(study)]
    parts.append("\n".join(f"- {name}: {text}" for name, text in facts(study, rows, scale, machine).items()))
    if rows:
        parts += [f"## {t.title}\n\n{t.markdown()}" for t in study.tables(rows)]
        said = claims(study, rows, scale)
        if said:
            parts.append("## Claims\n\n" + "\n".join(f"- {verdict(c)}: {c.text} {c.evidence}" for c in said))
    return "\n\n".join(parts) + "\n"


def claims(study: Study, rows: Sequence[Row], scale: Scale) -> list[Claim]:
    """The study's; at `smoke` none of them is decided, whatever the numbers of a few steps are."""
    said = study.claims(rows) if rows else []
    return [Claim(c.text, None, f"{c.evidence}; smoke decides nothing") for c in said] if scale == "smoke" else said


def verdict(claim: Claim) -> str:
    """In bold."""
    return {True: "**holds here**", False: "**does not hold here**", None: "**undecided here**"}[claim.holds]


def facts(study: Study, rows: Sequence[Row], scale: Scale, machine: str = "") -> dict[str, str]:
    """Beside every result: the scale in words, the cells, the seeds, the time, the machine, the date, the command."""
    seeds = sorted({r.seed for r in rows})
    spent = sum(r.seconds for r in rows)
    found = {
        "Scale": f"{scale}: {study.scales.get(scale, '')}",
        "Cells": f"{len({r.digest for r in rows})} done, seeds {', '.join(map(str, seeds)) or 'none'}",
        "Time": f"{f'{spent / 60:.1f} min' if spent >= 60 else f'{spent:.0f} s'} of computing (runs that were there "
        "already are not trained again, and not counted)",
        "Machine": machine,
        "Date": time.strftime("%Y-%m-%d", time.gmtime()),
        "Command": f"hatchel study run {target_of(study)} --scale {scale}",
    }
    return {name: text for name, text in found.items() if text}


def results(study: Study, rows: Sequence[Row], scale: Scale, machine: str = "") -> dict[str, Any]:
    """Every number that the tables use, by cell."""
    used = {c.name for t in (study.tables(rows) if rows else []) for c in t.columns}
    return {
        "study": name_of(study),
        "paper": study.paper,
        "facts": facts(study, rows, scale, machine),
        "claims": [vars(c) for c in claims(study, rows, scale)],
        "cells": [
            {"labels": dict(r.labels), "seed": r.seed, "cell": r.digest}
            | {"values": {k: v for k, v in r.values.items() if k in used}}
            for r in rows
        ],
    }


def summary(study: Study) -> str:
    """The first line of its docstring."""
    return (type(study).__doc__ or "").strip().splitlines()[0]


def slug(name: str) -> str:
    """A file's name.

    >>> slug("MIG by layer (z)")
    'mig-by-layer-z'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
