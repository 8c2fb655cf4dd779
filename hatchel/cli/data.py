"""`hatchel data`: what there is to learn from, fetching it, checking it, looking at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hatchel.cli.listing import UNNAMED
from hatchel.cli.options import AsJson, DataOptions, kinds, named_source
from hatchel.cli.printing import print_json, print_table

if TYPE_CHECKING:
    from hatchel.data.source import Source

app = typer.Typer(help="Data sets: list, get, verify, show.", no_args_is_help=True)

KINDS = kinds("hatchel.data", "Source")
Name = Annotated[str, typer.Argument(metavar="NAME", help="A kind from `hatchel data list`.", autocompletion=KINDS)]
NameOrPath = Annotated[
    str,
    typer.Argument(
        metavar="NAME|PATH", help="A kind from `hatchel data list`, or a folder, array or table.", autocompletion=KINDS
    ),
]


@app.command("list", epilog="Example: hatchel data list --json")
def list_(as_json: AsJson = False) -> None:
    """List the data sets that can be loaded by name, and whether their files are here."""
    from hatchel.data.source import Source

    entries = [_entry(kind, source) for kind, source in Source.members().items() if kind not in UNNAMED]
    if as_json:
        print_json(entries)
        return
    print_table(("data", "state", "what it is"), [(e["kind"], e["state"], e["about"]) for e in entries])
    print("\nOne's own: give the path of a folder of images, an .npy/.npz/.h5 array, or a .csv/.parquet table.")


@app.command(epilog="Example: hatchel data get mnist")
def get(
    kind: Name,
    only: Annotated[str, typer.Option(help="Only files with this text in their name.")] = "",
    folder: Annotated[Path | None, typer.Option(help="Where to put them; by default the data folder.")] = None,
) -> None:
    """Fetch the files of a data set: mirrors in turn, resumed, verified."""
    from hatchel.core.errors import HatchelError
    from hatchel.data.files import data_folder, fetch

    source = _source(kind)
    owner = source.shares or kind
    files = [f for f in _source(owner).files if only in f.name]
    if not files:
        if only:
            raise HatchelError(f"{kind} has no file with {only!r} in its name")
        print(f"{kind} needs no files.")
        return
    target = folder or data_folder(owner)
    for file in files:
        print(fetch(owner, file, target))
    if source.built_in:
        print(f"{kind} is drawn without files; to use this one, set data.path={target}")


@app.command(epilog="Example: hatchel data verify mnist path=./mnist")
def verify(name: NameOrPath, options: DataOptions = None, as_json: AsJson = False) -> None:
    """Check the files, or the cache, of a data set against shapes and checksums, and read through it."""
    import numpy as np

    ds = named_source(name, options).load()
    read = np.unique(np.linspace(0, len(ds) - 1, 4096).astype(np.int64))
    for some in np.array_split(read, 16):
        ds.items(some)
    if as_json:
        print_json({"name": name, "items": len(ds), "read": len(read), "fingerprint": ds.fingerprint})
        return
    print(f"{name}: {len(ds):,} items, {len(read):,} of them read, fingerprint {ds.fingerprint}: all right")


@app.command(epilog="Example: hatchel data show shapes3d size=32 --out shapes.png")
def show(
    name: NameOrPath,
    options: DataOptions = None,
    out: Annotated[Path | None, typer.Option(help="The PNG to write; by default NAME.png here.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the items shown.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and write no sheet.")] = False,
) -> None:
    """Describe a data set, and write a contact sheet of its images."""
    ds = named_source(name, options).load()
    if as_json:
        factors = ds.space.factors if ds.space is not None else ()
        known: dict[str, Any] = {"name": ds.name, "items": len(ds), "shape": ds.shape, "fingerprint": ds.fingerprint}
        known["factors"] = [{"name": f.name, "size": f.size, "kind": f.kind, "values": f.values} for f in factors]
        known["columns"] = [{"name": c.name, "likelihood": c.kind_of, "width": c.width} for c in ds.columns]
        print_json(known)
        return
    print(f"{ds.name}: {len(ds):,} items of shape {ds.shape}, fingerprint {ds.fingerprint}")
    if ds.space is not None:
        print("every combination once" if ds.space.complete else "a sample of the combinations")
        rows = [(f.name, f.size, f.kind, f.values[0], f.values[-1]) for f in ds.space.factors]
        print_table(("factor", "values", "kind", "from", "to"), rows)
    if ds.columns:
        print_table(("column", "likelihood", "encoded values"), [(c.name, c.kind_of, c.width) for c in ds.columns])
        return
    import io

    from PIL import Image

    from hatchel.core.errors import HatchelError
    from hatchel.core.files import write_bytes
    from hatchel.data.dataset import contact_sheet

    target, sheet = out or Path(f"{ds.name}.png"), io.BytesIO()
    try:
        Image.fromarray(contact_sheet(ds, seed)).save(sheet, Image.registered_extensions()[target.suffix.lower()])
    except (KeyError, OSError):
        raise HatchelError(f"--out {target}: is no name of a picture; try --out {ds.name}.png") from None
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, sheet.getvalue())
    print(f"contact sheet: {target}")


def _source(kind: str) -> type[Source]:
    from hatchel.core.errors import unknown
    from hatchel.data.source import Source

    if kind not in Source.members():
        raise unknown("dataset", kind, Source.members())
    return Source.members()[kind]


def _entry(kind: str, source: type[Source]) -> dict[str, Any]:
    from hatchel.data.files import data_folder

    owner = source.shares or kind
    files = _source(owner).files
    folder = data_folder(owner)
    here = [any((folder / name).is_file() for name in file.names) for file in files]
    if source.built_in:
        state = "built in"
    elif not files:
        state = "your own"
    else:
        state = "here" if all(here) else "partly here" if any(here) else "needs files"
    about = (source.__doc__ or "").split("\n")[0]
    named = [{"name": f.name, "here": h, "page": f.page} for f, h in zip(files, here, strict=True)]
    return {
        "kind": kind,
        "state": state,
        "about": about,
        "options": source.help(),
        "folder": str(folder) if files else None,
        "files": named,
    }
