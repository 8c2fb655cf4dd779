"""Pages that are made from the code, the records and the files beside docs/ whenever the site is built.

A member of a family is described by its own class: docstring, fields with their types, defaults and help. So a new
method has a page without a line here, and a page has the results of every record there is.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fields import fields_table, prose, restructured
from method_page import method_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAME = re.compile(r"^\| (.+?) \| `(\w+)` \|", re.MULTILINE)
"""A row of the table of methods."""
MOVED = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md", "../README.md": "index.md"}
"""Files beside docs/ and the pages that hold them."""
FUNCTIONS = ("train", "load", "evaluate", "resolve")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    app.connect("source-read", _linked)
    app.connect("autodoc-process-docstring", lambda *given: restructured(given[-1]))
    return {"parallel_read_safe": True}


def names(docs: Path) -> dict[str, str]:
    """What each method is called, by its kind, from the table of methods."""
    found = NAME.findall((docs / "methods.md").read_text(encoding="utf-8"))
    return {kind: name for name, kind in found}


def write_pages(docs: Path) -> list[Path]:
    """Write every page anew; a page whose text is the same is left alone, so that Sphinx need not read it again."""
    from hatchel.methods.method import Method

    called = names(docs)
    texts = {f"methods/{kind}.md": method_page(kind, called[kind], docs) for kind in Method.members()}
    texts |= {f"api/{name}.md": text for name, text in api_pages().items()}
    texts |= {page: _beside(docs, file) for file, page in MOVED.items() if page != "index.md"}
    for path in [*docs.glob("methods/*.md"), *docs.glob("api/*.md")]:
        if path.relative_to(docs).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return [docs / name for name in texts]


def api_pages() -> dict[str, str]:
    """The flat public names, and one page for every family of members."""
    import hatchel
    from hatchel.cli.listing import FAMILIES, UNNAMED

    public = [name for name in hatchel.__all__ if not name.startswith("_") and name not in FUNCTIONS]
    entries = [f".. autofunction:: hatchel.{name}\n" for name in FUNCTIONS]
    entries += [f".. autoclass:: hatchel.{name}\n   :members:\n" for name in public]
    pages = {"names": "# Names in `hatchel`\n\n```{eval-rst}\n" + "\n".join(entries) + "```\n"}
    for family, place in FAMILIES.items():
        module, root = place.split(":")
        if family in ("panels", "studies"):  # functions and values, not members of a family of classes
            pages[family] = _listed(family)
            continue
        members = getattr(importlib.import_module(module), root).members()
        blocks = [f"# {family.capitalize()}\n\n`hatchel list {family}`; a new one is a subclass of `{module}.{root}`."]
        for kind, member in members.items():
            if kind not in UNNAMED:
                where = f"`{member.__module__}.{member.__qualname__}`"
                blocks.append(f"## {kind}\n\n{where}\n\n{prose(member.__doc__ or '')}\n\n{fields_table(member)}")
        pages[family] = "\n\n".join(blocks) + "\n"
    return pages


def _listed(family: str) -> str:
    from hatchel.cli.listing import describe

    rows = "\n".join(f"| `{row['name']}` | {prose(row['what'])} |" for row in describe(family))
    return f"# {family.capitalize()}\n\n`hatchel list {family}`\n\n| name | what |\n| --- | --- |\n{rows}\n"


def _beside(docs: Path, file: str) -> str:
    """A file beside docs/, with its links as they are from inside."""
    text = (docs / file).read_text(encoding="utf-8").replace("](docs/", "](")
    for old, new in MOVED.items():
        text = text.replace(f"]({old.removeprefix('../')}", f"]({new}")
    return text


def _linked(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files beside docs/ lead to the pages that hold them, names in the table of methods to their pages."""
    for old, new in MOVED.items():
        source[0] = source[0].replace(f"]({old}", f"]({new}")
    if page == "index":  # a page that nobody listed stands with the evidence
        listed = source[0].splitlines()
        others = sorted(p.stem for p in Path(app.srcdir).glob("*.md") if p.stem not in [*listed, "index"])
        source[0] = source[0].replace("\nreliability\n", "\n".join(["\nreliability", *others, ""]))
    if page == "methods":
        source[0] = NAME.sub(r"| [\1](methods/\2.md) | `\2` |", source[0])
