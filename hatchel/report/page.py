"""Page: one self-contained HTML file about one run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hatchel.core.errors import HatchelError
from hatchel.core.files import writable_folder, write_text
from hatchel.core.spec import to_dict
from hatchel.core.version import __version__
from hatchel.report.findings import Control, Findings
from hatchel.report.panels.panel import Shown, shown
from hatchel.report.summary import duration, factor_lines, facts, notes, summary, training_seconds

__all__ = ["checked_file", "duration", "page", "rendered", "training_seconds", "write_report"]


def write_report(found: Findings, path: Path, controls: Sequence[Control] = ()) -> Path:
    """Write the page about a run, controls beside it, in one rename; the path."""
    checked_file(path)
    write_text(path, page(found, controls))
    return path


def page(found: Findings, controls: Sequence[Control] = (), panels: Sequence[Shown] | None = None) -> str:
    """The page's text: needs nothing from any other file or host. `panels`: already drawn ones."""
    found = found.beside(controls) if controls else found
    return rendered(
        "report.html.j2",
        {
            "title": f"{found.run.spec.name} on {found.run.data.name}",
            "formula": found.run.spec.formula(),
            "facts": facts(found),
            "lines": summary(found),
            "skipped": found.skipped,
            "factors": factor_lines(found),
            "controls": found.controls,
            "notes": notes(found),
            "variants": list(dict.fromkeys(score.name for score in found.scores.values())),
            "panels": shown(found) if panels is None else panels,
            "config": json.dumps(to_dict(found.run.spec), indent=2),
        },
    )


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A template of this room, filled in; what is missing is an error, and what is text is escaped."""
    environment = Environment(
        loader=PackageLoader("hatchel.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(values, version=__version__)


def checked_file(path: Path) -> Path:
    """A file that can be written, or why not, before any work is done."""
    if path.is_dir():
        raise HatchelError(f"{path}: is a folder; name the file to write, such as {path / 'report.html'}")
    writable_folder(path.parent)
    return path
