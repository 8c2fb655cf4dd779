"""Own terms, encoders, datasets and metrics: a Python file named on the command line, or an installed package; extras.

A package offers itself with an entry point in the group `hatchel.plugins` whose value is a module to import.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchel.core.errors import HatchelError

MOVED = {
    "hatchel.study.cell": "; since 0.2 write: from hatchel.study.task import Task, Result, Workspace "
    "(were Cell, Record, Place)"
}
"""What a plug-in of 0.1 imported, and what to write now."""


@functools.cache
def load_installed() -> None:
    """Import every module that installed packages offer in the entry-point group `hatchel.plugins`."""
    for entry in importlib.metadata.entry_points(group="hatchel.plugins"):
        try:
            entry.load()
        except Exception as error:
            raise HatchelError(f"the plug-in {entry.name!r} ({entry.value}) failed to import: {error}") from error


def extra(module: str, name: str, what: str) -> Any:
    """A module that an extra of this package brings, or what to install for it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise HatchelError(f'{what} needs {error.name or module}: pip install "hatchel[{name}]"') from None


def load_file(path: Path) -> None:
    """Import one file; whatever Specs it defines are registered by being defined."""
    if not path.is_file():
        raise HatchelError(f"--plugin {path}: there is no such file")
    name = f"hatchel_plugin_{path.stem}"
    description = importlib.util.spec_from_file_location(name, path)
    if description is None or description.loader is None:
        raise HatchelError(f"--plugin {path}: not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(description)
    sys.modules[name] = module
    try:
        description.loader.exec_module(module)
    except HatchelError:
        raise
    except ModuleNotFoundError as error:
        ours = str(error.name).startswith("hatchel.")
        remedy = MOVED.get(str(error.name), "; since 0.2 write: from hatchel import Term, Metric, ...") if ours else ""
        raise HatchelError(f"--plugin {path}: {error}{remedy}") from error
    except Exception as error:
        raise HatchelError(f"--plugin {path}: {type(error).__name__}: {error}") from error
