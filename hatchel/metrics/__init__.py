"""Metrics: Specs, and the pure functions on arrays that are derived from them.

`MIG(bins=10).score(probe)` and `hatchel.metrics.mig(codes, factors, bins=10)` are the same; `evaluate` measures all
that the given arrays allow. A metric is one file `_mig.py`, with an underscore, so that importing the file never hides
the function. Names are looked up when first used.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

_PARTS = {
    "Bootstrap": "intervals", "Metric": "metric", "Probe": "probe", "Score": "score", "Scores": "suite",
    "Subsampling": "intervals", "evaluate": "suite", "measure": "suite",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return getattr(importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)
    files = _files()
    if not name.startswith("_") and name not in files:  # the name of a file is looked up by the import itself
        from hatchel.metrics.functions import metric_function
        from hatchel.metrics.metric import Metric

        if f"_{name}" in files:
            found = vars(importlib.import_module(f"{__name__}._{name}")).values()
        else:
            found = Metric.members().values()
        for member in found:
            if isinstance(member, type) and issubclass(member, Metric) and name in (member.kind, member.__name__):
                return member if name == member.__name__ else metric_function(member)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PARTS, *(name[1:] for name in _files() if name.startswith("_"))])


@functools.cache
def _files() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)}
