"""`hatchel show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def show(
    target: Annotated[str, typer.Argument(help="A preset, or a YAML/JSON file.")],
    assignments: Annotated[list[str] | None, typer.Argument(help="key=value", metavar="[KEY=VALUE]...")] = None,
    size: Annotated[
        int, typer.Option(help="Pixels a side that are assumed where only the data's files could tell.")
    ] = 64,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="A Python file with your own.")] = None,
) -> None:
    """Print a method's objective as a formula, its symbols, its size, and the full configuration (YAML, for a file).

    [bold]hatchel show beta_tcvae beta=6 > mine.yaml[/]   then   [bold]hatchel train mine.yaml[/]
    """
    import yaml

    from hatchel.cli.assignments import load_plugins, read_spec
    from hatchel.core.spec import to_dict
    from hatchel.methods.method import Method

    load_plugins(plugin)
    spec = read_spec(target, assignments or ())
    member = Method.members().get(target)
    if member is not None:
        print(f"# {target}: {member.paper}. Verified: {member.verified}.")
        for name, text in member.help().items():
            print(f"#   {name}: {' '.join(text.split())}")
    print(f"# minimise  {spec.formula()}")
    for line in _size(spec, size):
        print(f"# {line}")
    print(yaml.safe_dump(to_dict(spec), sort_keys=False), end="")


def _size(spec: Any, size: int) -> list[str]:
    """Parameters and multiplications by part, without loading the data."""
    from hatchel.training.cost import cost

    known = spec.data.known_shape
    shape = known or (1, size, size)
    where = spec.data.kind if known else f"assumed, as only the files of {spec.data.kind} can tell: see --size"
    found = cost(spec.fit_to_shape(shape), shape)

    def line(numbers: dict[str, int], unit: float, digits: int, prefix: str = "M") -> str:
        parts = ", ".join(f"{name} {count / unit:.{digits}f}" for name, count in numbers.items())
        return f"{sum(numbers.values()) / unit:.{digits}f} {prefix} ({parts})"

    return [
        f"for images of {shape[1]}x{shape[2]} with {shape[0]} channel{'s' if shape[0] > 1 else ''} ({where}):",
        f"  parameters        {line(found.parameters, 1e6, 3)}",
        f"  MACs, one image   {line(found.macs, 1e6, 2)}",
        f"  MACs by thop's rules, 64 images   {line(found.thop, 1e9, 3, 'G')}",
    ]
