"""`hatchel list` and `hatchel show`: what there is, and what one method minimises."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isabstract
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from hatchel.cli.options import AsJson, Plugin, kinds, load_plugins, read_spec
from hatchel.cli.printing import print_json, print_table
from hatchel.core.errors import HatchelError, unknown

if TYPE_CHECKING:
    from hatchel.core.spec import Spec
    from hatchel.training.cost import Cost
    from hatchel.training.spec import RunSpec

FAMILIES = {
    "methods": "hatchel.methods.method:Method",
    "terms": "hatchel.objective.term:Term",
    "estimators": "hatchel.objective.estimators.estimator:Estimator",
    "weights": "hatchel.objective.weights:Weight",
    "schedules": "hatchel.training.spec:Schedule",
    "stops": "hatchel.training.callbacks:Stop",
    "trackers": "hatchel.training.callbacks:Tracker",
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
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY",
            help=", ".join(FAMILIES),
            autocompletion=lambda incomplete: [f for f in FAMILIES if f.startswith(incomplete)],
        ),
    ],
    as_json: AsJson = False,
    plugin: Plugin = None,
) -> None:
    """List the methods, terms, metrics, data sets, ... that there are, plug-ins included.

    [bold]hatchel list methods[/]   [bold]hatchel list terms --json[/]
    """
    if family == "presets":
        raise HatchelError("presets are called methods: hatchel list methods")
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    load_plugins(plugin)
    rows = describe(family)
    if as_json:
        print_json(rows)
        return
    keys = [key for key in rows[0] if key != "fields"] if rows else ["name"]
    print_table(keys, [[row[key] for key in keys] for row in rows])


def describe(family: str) -> list[dict[str, Any]]:
    """Each member with its first docstring line, its fields, and for methods the paper and what was verified."""
    import dataclasses
    import importlib

    if family == "panels":
        from hatchel.report.panels.panel import all_panels

        return [{"name": name, "what": panel.title, "fields": {}} for name, panel in all_panels().items()]
    if family == "studies":
        from hatchel.study.study import studies

        return [{"name": name, "what": study.about, "fields": {}} for name, study in studies().items()]
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


def show(
    target: Annotated[
        str,
        typer.Argument(
            metavar="METHOD|FILE",
            help="A method, or a YAML/JSON file.",
            autocompletion=kinds("hatchel.methods", "Method"),
        ),
    ],
    assignments: Annotated[
        list[str] | None, typer.Argument(help="Fields to change, as key=value.", metavar="KEY=VALUE")
    ] = None,
    size: Annotated[int, typer.Option(help="Pixels per side to assume if only the data's files could show it.")] = 64,
    plugin: Plugin = None,
    as_json: AsJson = False,
) -> None:
    """Print a method's objective as a formula, its parameters, its size, and the full configuration (YAML, for a file).

    [bold]hatchel show beta_tcvae beta=6 > mine.yaml[/]   then   [bold]hatchel train mine.yaml[/]
    """
    import yaml

    from hatchel.core.spec import to_dict
    from hatchel.methods.method import Method

    load_plugins(plugin)
    spec = read_spec(target, assignments or ())
    if as_json:
        cost = _cost(spec, size)[0]._asdict()
        print_json({"formula": spec.formula(), **cost, "spec": to_dict(spec)})
        return
    member = Method.members().get(target)
    if member is not None:
        print(f"# {target}: {member.paper}. Verified: {member.verified}.")
        for name, text in _parameters(member):
            print(f"#   {name}: {' '.join(text.split())}")
        if member.shorthands:
            short = "; ".join(f"{name} for {' and '.join(full)}" for name, full in member.shorthands.items())
            print(f"#   short: {short}")
    print(f"# minimise  {spec.formula()}")
    for line in _size(spec, size):
        print(f"# {line}")
    print(yaml.safe_dump(to_dict(spec), sort_keys=False), end="")


def _parameters(member: type[Spec], path: str = "") -> Iterator[tuple[str, str]]:
    """Each parameter with its help; those of a part whose kind is fixed, such as a controller, follow it."""
    from hatchel.core.spec import Spec

    hints, helps = get_type_hints(member), member.help()
    for name, text in helps.items():
        yield f"{path}{name}", text
        part = hints[name]
        if isinstance(part, type) and issubclass(part, Spec) and not isabstract(part):
            yield from _parameters(part, f"{path}{name}.")


def _cost(spec: RunSpec, size: int) -> tuple[Cost, tuple[int, int, int]]:
    """Parameters and multiplications by part, without loading the data, and the shape of the image they are for."""
    from hatchel.training.cost import cost

    shape = spec.data.known_shape or (1, size, size)
    return cost(spec.fit_to_shape(shape), shape), shape


def _size(spec: RunSpec, size: int) -> list[str]:
    """The same in words."""
    found, shape = _cost(spec, size)
    known = spec.data.known_shape
    where = spec.data.kind if known else f"assumed, as only the files of {spec.data.kind} show it: see --size"

    def line(numbers: dict[str, int], unit: float, digits: int, prefix: str = "M") -> str:
        parts = ", ".join(f"{name} {count / unit:.{digits}f}" for name, count in numbers.items())
        return f"{sum(numbers.values()) / unit:.{digits}f} {prefix} ({parts})"

    return [
        f"for images of {shape[1]}x{shape[2]} with {shape[0]} channel{'s' if shape[0] > 1 else ''} ({where}):",
        f"  parameters        {line(found.parameters, 1e6, 3)}",
        f"  MACs, one image   {line(found.macs, 1e6, 2)}",
        f"  MACs by thop's rules, 64 images   {line(found.thop, 1e9, 3, 'G')}",
    ]
