"""`hatchel list`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hatchel.cli.options import Plugin
from hatchel.core.errors import HatchelError, unknown

FAMILIES = {
    "methods": "hatchel.methods.method:Method",
    "terms": "hatchel.objective.term:Term",
    "estimators": "hatchel.objective.estimators.estimator:Estimator",
    "weights": "hatchel.objective.weights:Weight",
    "encoders": "hatchel.nets.part:Encoder",
    "decoders": "hatchel.nets.part:Decoder",
    "latents": "hatchel.latents.latent:Latent",
    "variables": "hatchel.latents.variables:Variable",
    "likelihoods": "hatchel.latents.likelihoods:Likelihood",
    "datasets": "hatchel.data.source:Source",
    "metrics": "hatchel.metrics.metric:Metric",
    "panels": "hatchel.report.panels.panel:Panel",
    "studies": "hatchel.study.study:Study",
    "engines": "hatchel.study.engines.engine:Engine",
}
UNNAMED = ("memory",)
"""An array that a program held: nothing that could be loaded by name."""


def list_members(
    family: Annotated[str, typer.Argument(help=", ".join(FAMILIES))],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plugin: Plugin = None,
) -> None:
    """List the methods, terms, metrics, data sets, ... that there are, plug-ins included.

    [bold]hatchel list methods[/]   [bold]hatchel list terms --json[/]
    """
    if family == "presets":
        raise HatchelError("presets are called methods: hatchel list methods")
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    from hatchel.cli.assignments import load_plugins

    load_plugins(plugin)
    rows = describe(family)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    keys = [key for key in rows[0] if key != "fields"] if rows else ["name"]
    for key in keys:
        table.add_column(key, no_wrap=key == "name", style="cyan" if key == "name" else "")
    for row in rows:
        table.add_row(*(Text(str(row[key])) for key in keys))  # Text: a bracket in a formula is no markup
    Console().print(table)


def describe(family: str) -> list[dict[str, Any]]:
    """Each member with its first docstring line, its fields, and for methods the paper and what was verified."""
    import dataclasses
    import importlib

    module, name = FAMILIES[family].split(":")
    root = getattr(importlib.import_module(module), name)
    rows: list[dict[str, Any]] = []
    for kind, member in root.members().items():
        if kind in UNNAMED:
            continue
        row: dict[str, Any] = {"name": kind, "what": (member.__doc__ or "").strip().splitlines()[0]}
        if family == "methods":
            row |= {"paper": member.paper, "verified": member.verified}
        helps = member.help()
        row["fields"] = {f.name: helps.get(f.name, "") for f in dataclasses.fields(member)}
        rows.append(row)
    return rows
