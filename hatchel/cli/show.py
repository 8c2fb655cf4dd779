"""`hatchel show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    target: Annotated[str, typer.Argument(help="A preset, or a YAML/JSON file.")],
    assignments: Annotated[list[str] | None, typer.Argument(help="key=value", metavar="[KEY=VALUE]...")] = None,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="A Python file with your own.")] = None,
) -> None:
    """Print a method's objective as a formula, its symbols, and the full configuration (YAML, ready for a file).

    [bold]hatchel show beta_tcvae beta=6 > mine.yaml[/]   then   [bold]hatchel train mine.yaml[/]
    """
    import yaml

    from hatchel.cli.assignments import load_plugins, read_spec
    from hatchel.presets.preset import Preset
    from hatchel.spec import encode

    load_plugins(plugin)
    spec = read_spec(target, assignments or ())
    member = Preset.members().get(target)
    if member is not None:
        print(f"# {target}: {member.paper}. Verified: {member.verified}.")
        for name, text in member.help().items():
            print(f"#   {name}: {' '.join(text.split())}")
    print(f"# minimise  {spec.formula()}")
    print(yaml.safe_dump(encode(spec), sort_keys=False), end="")
