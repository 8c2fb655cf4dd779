"""What several commands share: options, plug-in files, and `key=value` arguments (`gamma=10 latent.dim=16`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hatchel.core.errors import HatchelError, shortened

if TYPE_CHECKING:
    from hatchel.data.source import Source
    from hatchel.training.spec import RunSpec

EngineName = Annotated[
    str, typer.Option("--engine", help="here, local, dask, dask://HOST:PORT, ray, ray://HOST:PORT or slurm.")
]
Workers = Annotated[int, typer.Option(min=0, help="Tasks at once; 0: as many as the engine allows.")]
EngineSet = Annotated[
    list[str] | None, typer.Option("--engine-set", metavar="KEY=VALUE", help="Such as partition=gpu for slurm.")
]
Folder = Annotated[Path, typer.Option("--store", help="The folder that keeps the records.")]
Plugin = Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")]

DataOptions = Annotated[
    list[str] | None, typer.Argument(help="Options of the data as key=value, such as size=32.", metavar="KEY=VALUE")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, and nothing but results.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
STUDIES = Path("studies")
"""The default store."""


def kinds(home: str, root: str) -> Callable[[str], list[str]]:
    """For the shell's completion: the built-in members of a family, read from its source, since torch takes seconds."""

    def complete(incomplete: str) -> list[str]:
        from hatchel.core.spec import snake

        found = find_spec(home)
        assert found is not None
        files = [p for place in found.submodule_search_locations or () for p in Path(place).glob("*.py")]
        text = "\n".join(p.read_text(encoding="utf-8") for p in files or [Path(found.origin or "")])
        heads = re.findall(r'^class (\w+)\((\w+)(, ABC)?(?:.*kind="(\w+)")?', text, re.MULTILINE)
        below = {root}
        for _ in range(3):  # a member may have parents of its own
            below |= {name for name, parent, *_ in heads if parent in below}
        named = [kind or snake(name) for name, _, abstract, kind in heads if name in below - {root} and not abstract]
        return sorted(kind for kind in named if kind.startswith(incomplete))

    return complete


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """Each key with its value, read as YAML: numbers, true/false, [lists], words.

    >>> parse(["gamma=10", "latent.dim=16", "by=mws", "anchors=[0, 1]"])
    {'gamma': 10, 'latent.dim': 16, 'by': 'mws', 'anchors': [0, 1]}
    """
    from hatchel.core.fields import parse_yaml

    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or not all(key.split(".")):
            raise HatchelError(f"{shortened(argument)}: expected key=value, such as steps=1000 or latent.dim=16")
        try:
            values[key] = parse_yaml(text)
        except HatchelError as error:
            if text[:1] in "[{&*!":  # meant as YAML, not as a word or a path
                raise HatchelError(f"{shortened(argument)}: {error}") from None
            values[key] = text
    return values


def named_source(name: str, options: Sequence[str] | None) -> Source:
    """A data set by name or path with options as `hatchel train` takes them, too: size=32 or data.size=32."""
    from hatchel.data.source import named

    return named(name, **{key.removeprefix("data."): value for key, value in parse(options or ()).items()})


def check_folder(out: Path | None) -> None:
    """That --out can become a folder, before any work is done."""
    taken = next((p for p in (out, *out.absolute().parents) if p.exists()), None) if out else None
    if taken is not None and not taken.is_dir():
        raise HatchelError(f"--out {out}: {taken} is a file; name a folder that is new, or holds this run")


def load_plugins(files: Sequence[Path] | None) -> None:
    """Import the files given with --plugin."""
    from hatchel.core.plugins import load_file

    for file in files or ():
        load_file(file)


def read_spec(target: str, arguments: Sequence[str]) -> RunSpec:
    """The run that a method's name or a YAML/JSON file describes, with the assignments applied."""
    from hatchel.core.fields import read_fields
    from hatchel.core.spec import from_dict, updated
    from hatchel.methods.resolve import resolve
    from hatchel.training.spec import RunSpec

    changes = parse(arguments)
    path = Path(target)
    if (path / "config.json").is_file():
        raise HatchelError(f"{path}: is a run; it is trained further by: hatchel train {path} --resume steps=...")
    if path.suffix == "" and len(path.parts) > 1:  # no method has such a name
        raise HatchelError(f"{path}: is not a run (it has no config.json); runs are made by `hatchel train METHOD`")
    if path.suffix in (".yaml", ".yml", ".json"):
        body = read_fields(path, "`method: factor_vae`")
        if "preset" in body:
            raise HatchelError(f"{path}: `preset` is now `method`; write `method: {body['preset']}`")
        if "method" not in body:
            return updated(from_dict(RunSpec, body), changes)
        target = str(body.pop("method"))
        changes = {**body, **changes}
    return resolve(target, changes=changes)
